// The tasks of a run on an axis of time; subgraphs open in place, noise is hidden unless it is wanted.

import { useEffect, useMemo, useState } from "preact/hooks";

import type { Divergence } from "../../api/debug_types";
import { readRecording } from "../../api/recording";
import type { CheckpointEntry } from "../../api/run_types";
import { divergingRows } from "../../fold/divergence";
import { countNoise, makeScale, spansOf, timelineRows, type TimelineRow } from "../../fold/timeline";
import { Timeline } from "../../parts/timeline";
import { href } from "../../routing/navigation";
import type { Inside } from "./use_run";

interface TimelinePanelProps {
  thread: string;
  line: CheckpointEntry[];
  /** The checkpoint that was chosen. */
  selected: number | null;
  inside: Inside;
  isRunning: boolean;
  hasEarlier: boolean;
  /** The first divergence from the record, while a panel shows it. */
  divergence: Divergence | null;
}

export function TimelinePanel({ thread, line, selected, inside, isRunning, hasEarlier, divergence }: TimelinePanelProps) {
  const [isNoiseShown, setNoiseShown] = useState(false);
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const now = useNow(isRunning);
  const lists = inside.lists;
  const rows = useMemo(() => timelineRows(line, { isNoiseShown, open, inside: lists }), [line, isNoiseShown, open, lists]);
  const scale = useMemo(() => makeScale(spansOf(line, now, isNoiseShown)), [line, now, isNoiseShown]);
  const diverging = useMemo(() => divergingRows(rows, divergence), [rows, divergence]);
  const noise = useMemo(() => countNoise(line), [line]);
  const toggle = (row: TimelineRow): void => {
    setOpen((was) => new Set(was.has(row.key) ? [...was].filter((key) => key !== row.key) : [...was, row.key]));
    if (!open.has(row.key)) inside.load([...row.within, row.key], row.task.path ?? [row.task.node]);
  };
  return (
    <section class="stack run-timeline">
      <header class="row">
        <h2>Tasks</h2>
        <span class="soft">
          {rows.length === 1 ? "1 task" : `${rows.length.toLocaleString("en")} tasks`}
          {hasEarlier ? ", the newest" : ""}
        </span>
        {noise > 0 && (
          <label class="field-check run-noise">
            <input type="checkbox" checked={isNoiseShown} onChange={(event) => setNoiseShown(event.currentTarget.checked)} />
            Show START and tasks without updates ({noise})
          </label>
        )}
      </header>
      {rows.length === 0 ? (
        <p class="soft">No task has started yet.</p>
      ) : (
        <Timeline rows={rows} scale={scale} now={now} selected={selected} diverging={diverging} open={open} onToggle={toggle} address={({ checkpoint, task, within }) => href({ view: "task", thread, checkpoint: String(checkpoint), task: task.id, within })} />
      )}
    </section>
  );
}

/** The time, once a second while something runs, or that of a file; null if nothing does. */
function useNow(isRunning: boolean): number | null {
  const recorded = readRecording()?.exported_at;
  const [now, setNow] = useState(recorded === undefined ? Date.now() : Date.parse(recorded));
  useEffect(() => {
    if (!isRunning || recorded !== undefined) return;
    setNow(Date.now());
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, [isRunning]);
  return isRunning ? now : null;
}
