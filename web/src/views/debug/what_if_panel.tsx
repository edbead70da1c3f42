// What the run would have come to with the present graph. Nothing is stored, no effect runs.

import { useId, useState } from "preact/hooks";

import type { WhatIfReport } from "../../api/debug_types";
import { request } from "../../api/source";
import { Button } from "../../parts/button";
import { ErrorNote } from "../../parts/notes";
import { Value } from "../../parts/value";
import { DivergenceNote } from "./divergence";

export function WhatIfPanel({ thread, checkpoint }: { thread: string; checkpoint: string }) {
  const [isWhole, setWhole] = useState(true);
  const [state, setState] = useState<{ report?: WhatIfReport; error?: Error; isRunning?: boolean }>({});
  const id = useId();
  const run = (event: Event): void => {
    event.preventDefault();
    setState({ isRunning: true });
    const body = isWhole ? {} : { from: Number(checkpoint) };
    request<WhatIfReport>(`/threads/${encodeURIComponent(thread)}/what-if`, { method: "POST", body }).then(
      (report) => setState({ report }),
      (error: Error) => setState({ error }),
    );
  };
  return (
    <div class="card stack">
      <form class="stack" onSubmit={run} aria-labelledby={id}>
        <h3 id={id}>What if</h3>
        <p class="soft">Runs the present graph over the records. No effect is repeated, nothing is stored. To try other values, fork.</p>
        <label class="field-check">
          <input type="checkbox" checked={isWhole} onChange={(event) => setWhole(event.currentTarget.checked)} />
          From the start, not from checkpoint {checkpoint}
        </label>
        <div>
          <Button kind="main" type="submit" disabled={state.isRunning === true}>
            Run
          </Button>
        </div>
      </form>
      <div role="status" aria-label="What if" class="stack">
        {state.isRunning === true && <p>Running…</p>}
        {state.error !== undefined && <ErrorNote error={state.error} />}
        {state.report !== undefined && <Report thread={thread} report={state.report} />}
      </div>
    </div>
  );
}

function Report({ thread, report }: { thread: string; report: WhatIfReport }) {
  const { supersteps, differences, taken, stopped, state, next } = report;
  return (
    <>
      <p>
        {supersteps} supersteps ran again. {differences.length === 0 ? "Nothing differs from what was." : `${differences.length} differences from what was:`}
      </p>
      {differences.slice(0, 50).map((divergence) => (
        <DivergenceNote thread={thread} divergence={divergence} />
      ))}
      {taken.length > 0 && <p class="soft">{taken.length} results were taken as recorded, though their input may be another now.</p>}
      <p>{stopped === null ? "It reached its end." : `It stopped before ${stopped.node} in superstep ${stopped.step}: ${stopped.why}`}</p>
      {next.length > 0 && <p>Next: {next.join(", ")}</p>}
      <details>
        <summary>The state there</summary>
        <Value value={state} />
      </details>
    </>
  );
}
