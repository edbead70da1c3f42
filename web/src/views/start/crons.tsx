// The schedules of some graphs: when each runs next; paused, resumed, deleted.

import { useState } from "preact/hooks";

import { useResource } from "../../api/resource";
import type { Cron } from "../../api/types";
import { scheduleText, type StartableGraph } from "../../fold/start";
import { Button, Confirm } from "../../parts/button";
import { ErrorNote } from "../../parts/notes";
import { href } from "../../routing/navigation";
import { NextRun } from "./next_run";
import { deleteCron, enableCron, loadCrons } from "./requests";

export function Crons({ graphs }: { graphs: StartableGraph[] }) {
  const { value, error, reload } = useResource("schedules", loadCrons, { changes: ({ kind }) => kind === "started" });
  const names = new Map(graphs.flatMap(({ graph, assistants }) => assistants.map(({ assistant_id, name }) => [assistant_id, { graph, name }] as const)));
  const crons = (value ?? []).filter(({ assistant_id }) => names.has(assistant_id));
  if (error !== undefined) return <ErrorNote error={error} onRetry={reload} />;
  return (
    <section class="stack start-crons" aria-labelledby="schedules">
      <h2 id="schedules">Schedules</h2>
      {crons.length === 0 && <p class="soft">None. “Run by a schedule”, in the form of a graph, makes one: its runs start by themselves while a server runs.</p>}
      {crons.length > 0 && (
        <ul class="card stack" role="list">
          {crons.map((cron) => (
            <CronItem key={cron.cron_id} cron={cron} graph={names.get(cron.assistant_id)?.graph ?? ""} name={names.get(cron.assistant_id)?.name ?? ""} onChanged={reload} />
          ))}
        </ul>
      )}
    </section>
  );
}

function CronItem({ cron, graph, name, onChanged }: { cron: Cron; graph: string; name: string; onChanged: () => void }) {
  const [isAsked, setAsked] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  const [isPaused, what] = [cron.enabled === false, scheduleText(cron.schedule)];
  const send = (sent: Promise<unknown>): void => {
    setAsked(false);
    setError(null);
    sent.then(onChanged, (cause: Error) => setError(cause));
  };
  return (
    <li class="start-cron" aria-label={`${name}, ${cron.schedule}`}>
      <div class="start-cron-text">
        <p>
          <a href={href({ view: "start", graph })}>{name}</a> {what ?? <code>{cron.schedule}</code>} {isPaused && <span class="mark" data-kind="warn">paused</span>}
        </p>
        <p class="soft">
          {what !== null && <code>{cron.schedule}</code>} {cron.timezone ?? "UTC"}. {!isPaused && <NextRun cron={cron} />}
          {cron.thread_id !== null && (
            <>
              {" "}In the thread <a href={href({ view: "thread", thread: cron.thread_id })}>{cron.thread_id}</a>.
            </>
          )}
        </p>
      </div>
      <div class="button-row">
        <Button onClick={() => send(enableCron(cron.cron_id, isPaused))}>{isPaused ? "Resume" : "Pause"}</Button>
        <Button kind="bad" onClick={() => setAsked(true)}>
          Delete
        </Button>
      </div>
      {error !== null && <ErrorNote error={error} />}
      {isAsked && (
        <Confirm title="Delete this schedule?" onCancel={() => setAsked(false)} onConfirm={() => send(deleteCron(cron.cron_id))}>
          {name}, {what ?? cron.schedule}: no more runs are started by it. Threads that it has started stay.
        </Confirm>
      )}
    </li>
  );
}
