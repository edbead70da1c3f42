// What runs have cost, and how busy the server is.

import { useEffect, useState } from "preact/hooks";

import { useResource } from "../../api/resource";
import { request } from "../../api/source";
import type { Json } from "../../api/types";
import { isNothing, readHealth, readSpending, type Spending } from "../../fold/spend";
import { whileVisible } from "../../live/look";
import { ErrorNote, Loading } from "../../parts/notes";
import { HealthCards } from "./health";
import { NothingSpent } from "./nothing_spent";
import { SpendTable } from "./spend_table";
import { Totals } from "./totals";
import "./spend.css";

/** Workers and the queue are read again after this many milliseconds, since they change without an event. */
const REST = 15_000;
const PERIODS = [
  { name: "All time", days: 0 },
  { name: "Last 24 hours", days: 1 },
  { name: "Last 7 days", days: 7 },
  { name: "Last 30 days", days: 30 },
];

export function Spend() {
  const [days, setDays] = useState(0);
  const spending = useResource(`spend ${days}`, (signal) => loadSpending(days, signal), { changes: ({ kind }) => kind === "ended" || kind === "deleted" });
  const health = useResource("health", async (signal) => readHealth(await request<Json>("/health", { signal })), { changes: ({ kind }) => kind !== "position" });
  useEffect(() => whileVisible(health.reload, REST), []);
  return (
    <div class="spend stack">
      <h1>Spend</h1>
      <section class="stack" aria-labelledby="health">
        <h2 id="health">Now</h2>
        {health.error !== undefined && <ErrorNote error={health.error} onRetry={health.reload} />}
        {health.value !== undefined && <HealthCards health={health.value} />}
        {health.value === undefined && health.error === undefined && <Loading what="the queue" />}
      </section>
      <section class="stack" aria-labelledby="cost">
        <header class="row spend-head">
          <h2 id="cost">Cost and tokens</h2>
          <select class="input" aria-label="Period" value={String(days)} onChange={(event) => setDays(Number(event.currentTarget.value))}>
            {PERIODS.map((period) => (
              <option value={String(period.days)}>{period.name}</option>
            ))}
          </select>
        </header>
        {spending.error !== undefined && <ErrorNote error={spending.error} onRetry={spending.reload} />}
        {spending.value === undefined && spending.error === undefined && <Loading what="what was spent" />}
        {spending.value !== undefined && <Spendings spending={spending.value} isAll={days === 0} />}
      </section>
    </div>
  );
}

function Spendings({ spending, isAll }: { spending: Spending; isAll: boolean }) {
  if (isNothing(spending)) return <NothingSpent isAll={isAll} />;
  return (
    <>
      <Totals total={spending.total} />
      <div class="spend-tables">
        <SpendTable title="By graph" of="Graph" parts={spending.graphs} />
        <SpendTable title="By role" of="Role" parts={spending.roles} />
        <SpendTable title="By day" of="Day" parts={spending.days} />
        <SpendTable title="By task" of="Task" parts={spending.tasks} />
      </div>
    </>
  );
}

async function loadSpending(days: number, signal: AbortSignal): Promise<Spending> {
  const since = days === 0 ? "" : `?since=${encodeURIComponent(new Date(Date.now() - days * 86_400_000).toISOString())}`;
  return readSpending(await request<Json>(`/spend${since}`, { signal }));
}
