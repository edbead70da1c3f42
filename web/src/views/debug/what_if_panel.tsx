// What the run would have come to with the present graph. Nothing is stored, no effect runs.

import { useEffect, useId, useState } from "preact/hooks";

import type { Divergence, WhatIfReport } from "../../api/debug_types";
import type { CheckpointEntry } from "../../api/run_types";
import { request } from "../../api/source";
import { lineOf } from "../../fold/checkpoints";
import { Button } from "../../parts/button";
import { ErrorNote } from "../../parts/notes";
import { WhatIfReportView } from "./what_if_report";

interface WhatIfProps {
  thread: string;
  checkpoint: string;
  /** All checkpoints that are known, newest first. */
  list: CheckpointEntry[];
  onDiverge: (found: Divergence | null) => void;
}

export function WhatIfPanel({ thread, checkpoint, list, onDiverge }: WhatIfProps) {
  const [isWhole, setWhole] = useState(true);
  const [state, setState] = useState<{ report?: WhatIfReport; error?: Error; isRunning?: boolean }>({});
  const id = useId();
  useEffect(() => {
    onDiverge(state.report?.differences[0] ?? null);
    return () => onDiverge(null);
  }, [state.report]);
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
          <input type="checkbox" checked={isWhole} onChange={(event) => (setWhole(event.currentTarget.checked), setState({}))} />
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
        {state.report !== undefined && <WhatIfReportView thread={thread} report={state.report} line={lineOf(list, isWhole ? undefined : Number(checkpoint))} />}
      </div>
    </div>
  );
}
