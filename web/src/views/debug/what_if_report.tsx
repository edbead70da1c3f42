// What the present graph makes of the records, beside what was.

import type { WhatIfReport } from "../../api/debug_types";
import { loadState } from "../../api/run";
import type { CheckpointEntry } from "../../api/run_types";
import type { Json } from "../../api/types";
import { changedChannels, recordedEnd } from "../../fold/what_if";
import { ErrorNote, Loading } from "../../parts/notes";
import { Value } from "../../parts/value";
import { DivergenceNote, RecordedAndNow } from "./divergence";
import { useTask } from "./use_task";

interface ReportProps {
  thread: string;
  report: WhatIfReport;
  /** The checkpoints that it ran over, oldest first. */
  line: CheckpointEntry[];
}

/** Differences that are shown. */
const SHOWN = 50;

export function WhatIfReportView({ thread, report, line }: ReportProps) {
  const { supersteps, differences, taken, stopped, state, next } = report;
  const end = recordedEnd(line, stopped);
  return (
    <>
      <p>
        {supersteps} supersteps ran again. {differences.length === 0 ? "Nothing differs from what was." : `${differences.length === 1 ? "1 difference" : `${differences.length} differences`} from what was:`}
      </p>
      {differences.slice(0, SHOWN).map((divergence) => (
        <DivergenceNote thread={thread} divergence={divergence} />
      ))}
      {differences.length > SHOWN && <p class="soft">and {differences.length - SHOWN} more</p>}
      {taken.length > 0 && <p class="soft">{taken.length} results were taken as recorded, though their input may be another now.</p>}
      <p>{stopped === null ? "It reached its end." : `It stopped before ${stopped.node} in superstep ${stopped.step}: ${stopped.why}`}</p>
      {next.length > 0 && <p>Next: {next.join(", ")}</p>}
      {end !== undefined && <States thread={thread} end={end} state={state} />}
      <details>
        <summary>The state there</summary>
        <Value value={state} />
      </details>
    </>
  );
}

/** The state in which it ended, beside the recorded one of the same place. */
function States({ thread, end: { checkpoint }, state }: { thread: string; end: CheckpointEntry; state: Json }) {
  const { value, error } = useTask(`state ${thread} ${checkpoint}`, (signal) => loadState(thread, checkpoint, signal));
  if (error !== undefined) return <ErrorNote error={error} />;
  if (value === undefined) return <Loading what="the recorded state" />;
  const changed = changedChannels(value, state);
  if (changed.length === 0) return <p>The state is as recorded at checkpoint {checkpoint}.</p>;
  return (
    <section class="stack" aria-label="State, recorded and now">
      <p>The state, as recorded at checkpoint {checkpoint} and as it would be:</p>
      {changed.map(({ channel, before, after }) => (
        <div class="change stack" key={channel}>
          <p>
            <code>{channel}</code>
          </p>
          <RecordedAndNow recorded={before} now={after} />
        </div>
      ))}
    </section>
  );
}
