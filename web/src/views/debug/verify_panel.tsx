// Whether the present graph does what was recorded, and where it first does not.

import { useEffect, useState } from "preact/hooks";

import type { Divergence, VerifyReport } from "../../api/debug_types";
import { request } from "../../api/source";
import { ErrorNote } from "../../parts/notes";
import { DivergenceNote } from "./divergence";
import { useTask } from "./use_task";

const VERDICTS: Record<VerifyReport["verdict"], { text: string; kind: "good" | "warn" | "bad" }> = {
  same: { text: "The present graph does what was recorded.", kind: "good" },
  same_in_part: { text: "Nothing differs in what could be compared.", kind: "good" },
  nothing_compared: { text: "Nothing could be compared: no node and no router can be run again without its effects.", kind: "warn" },
  different: { text: "The present graph does something else.", kind: "bad" },
};

export function VerifyPanel({ thread, onDiverge }: { thread: string; onDiverge: (found: Divergence | null) => void }) {
  const path = `/threads/${encodeURIComponent(thread)}/verify`;
  const { value, error } = useTask(path, (signal) => request<VerifyReport>(path, { method: "POST", body: {}, signal }));
  useEffect(() => {
    onDiverge(value?.divergence ?? null);
    return () => onDiverge(null);
  }, [value]);
  return (
    <div class="card stack" role="status" aria-label="Verify">
      {error !== undefined && <ErrorNote error={error} />}
      {value === undefined && error === undefined && <p>Runs it again from its records, without effects…</p>}
      {value !== undefined && <Report thread={thread} report={value} />}
    </div>
  );
}

function Report({ thread, report }: { thread: string; report: VerifyReport }) {
  const [isOpen, setOpen] = useState(false);
  const { text, kind } = VERDICTS[report.verdict];
  return (
    <>
      <p>
        <span class="mark" data-kind={kind}>
          {report.verdict.replace(/_/g, " ")}
        </span>{" "}
        {text}
      </p>
      <p class="soft">
        {report.verified} supersteps compared, {report.bodies} bodies and {report.routers} routers run, {report.not_verified.length} results taken as recorded.
      </p>
      {report.divergence !== null && <DivergenceNote thread={thread} divergence={report.divergence} />}
      {report.not_verified.length > 0 && (
        <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
          <summary>What was not compared</summary>
          {isOpen && (
            <ul>
              {report.not_verified.slice(0, 200).map(({ step, namespace, node, why }) => (
                <li>
                  superstep {step}, <code>{[...(namespace ?? []), node].join(" › ")}</code>: {why}
                </li>
              ))}
            </ul>
          )}
        </details>
      )}
    </>
  );
}
