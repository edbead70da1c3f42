// The link and the bar of one task in the timeline. Knows no run.

import { stateOf } from "../fold/graph";
import { withoutTurns } from "../fold/hidden";
import { rowText, spanOf, summaryText, type Scale, type TimelineRow } from "../fold/timeline";
import { durationText } from "../fold/time";
import { StateIcon } from "./graph_parts";
import { Visible } from "./visible";

interface BarProps {
  row: TimelineRow;
  scale: Scale;
  now: number | null;
}

/** Gaps that are drawn; beyond that they would be the picture. */
const GAPS = 24;

export function TaskBar({ row: { task }, scale, now }: BarProps) {
  const span = spanOf(task, now);
  const state = stateOf(task, now !== null);
  const gaps = scale.gaps.slice(0, GAPS).map(({ at, width }) => <rect key={at} class="timeline-gap" x={percent(at)} width={percent(width)} height="100%" />);
  if (span === null) return <svg class="timeline-track" aria-hidden="true">{gaps}</svg>;
  const [from, to] = [scale.place(span.from), scale.place(span.to)];
  const short = state === "waits" ? "waits" : durationText(span.to - span.from);
  const words = [summaryText(task), short].filter((word) => word !== "").join(" · ");
  return (
    <svg class="timeline-track" aria-hidden="true">
      {gaps}
      <svg class="timeline-bar" data-state={state} x={percent(from)} width={percent(Math.max(to - from, 0))} height="100%" overflow="visible">
        <rect class="timeline-shape" y={8} width="100%" height={16} rx={3} />
        <rect class="timeline-shape" x={from > 0.99 ? -4 : 0} y={8} width={4} height={16} rx={2} />
      </svg>
      {(task.failures ?? []).map(({ at }) => (
        <line key={at} class="timeline-retry" x1={percent(scale.place(Date.parse(at)))} x2={percent(scale.place(Date.parse(at)))} y1={5} y2={27} />
      ))}
      <BarText from={from} to={to} text={words.length > 90 ? `${words.slice(0, 89)}…` : words} size="long" />
      <BarText from={from} to={to} text={short} size="short" />
    </svg>
  );
}

/** The text of a bar: after it, before it, or in it, where there is most room. A narrow page shows the short one. */
function BarText({ from, to, text, size }: { from: number; to: number; text: string; size: "long" | "short" }) {
  const isAfter = to < 0.55;
  const isBefore = !isAfter && from > 0.45;
  const [x, dx] = isAfter ? [to, 8] : isBefore ? [from, -8] : [from, 8];
  return (
    <text class="timeline-text" data-size={size} data-in={isAfter || isBefore ? undefined : ""} x={percent(x)} dx={dx} y={16} dy="0.35em" text-anchor={isBefore ? "end" : "start"}>
      {withoutTurns(text)}
    </text>
  );
}

/** What a task did, on a line of its own where its bar has no room for it. Readers of the screen have it in its link. */
export function TaskSummary({ row: { task } }: { row: TimelineRow }) {
  return (
    <span class="timeline-summary" aria-hidden="true">
      <Visible text={summaryText(task)} />
    </span>
  );
}

/** The name of a task, with its state, as a link to it. */
export function TaskLink({ row, href, now }: { row: TimelineRow; href: string; now: number | null }) {
  const { task } = row;
  const state = stateOf(task, now !== null);
  return (
    <a class="timeline-link" href={href} aria-label={rowText(row, now)}>
      <svg class="timeline-state" viewBox="-8 -8 16 16" width="14" height="14" aria-hidden="true">
        {state === null ? <circle class="timeline-idle" r="3" /> : <StateIcon state={state} x={0} y={0} />}
      </svg>
      <span class="timeline-node"><Visible text={task.node} /></span>
    </a>
  );
}

function percent(part: number): string {
  return `${Math.round(part * 1e5) / 1e3}%`;
}
