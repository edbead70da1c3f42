// Tasks as rows with bars of time: supersteps as groups, parallel tasks in lanes below each other. Of many rows only those that are seen are in
// the document. Knows no run and no request.

import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";

import { gapText, hasSummary, spanOf, type Scale, type TimelineRow } from "../fold/timeline";
import { durationText } from "../fold/time";
import { Button } from "./button";
import { useMedia } from "./media";
import { revealRow, useRowsWindow } from "./rows_window";
import { TaskBar, TaskLink, TaskSummary } from "./timeline_bar";
import "./timeline.css";

interface TimelineProps {
  rows: TimelineRow[];
  scale: Scale;
  /** The time now, for tasks that run; null if nothing runs. */
  now: number | null;
  /** The checkpoint that is shown: its tasks are marked. */
  selected: number | null;
  /** The keys of the rows that differ from what the graph does now. */
  diverging: ReadonlySet<string>;
  open: ReadonlySet<string>;
  onToggle: (row: TimelineRow) => void;
  address: (row: TimelineRow) => string;
}

/** The height of a row, in pixels; rows are higher where they are touched, and have a line more there if any has a summary. */
const [ROW, TOUCHED_ROW, SUMMARY] = [32, 44, 20];
const ZOOMS = [1, 2, 4, 8, 16, 32, 128];

export function Timeline({ rows, scale, now, selected, diverging, open, onToggle, address }: TimelineProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const [zoom, setZoom] = useState(0);
  const isTouched = useMedia("(max-width: 767px)");
  const hasSummaries = useMemo(() => isTouched && rows.some(({ task }) => hasSummary(task)), [rows, isTouched]);
  const height = isTouched ? TOUCHED_ROW + (hasSummaries ? SUMMARY : 0) : ROW;
  const { from, to, above, below } = useRowsWindow(scroller, rows.length, height);
  useFollow(scroller, rows, selected, height, now !== null);
  useReveal(scroller, rows, diverging, height);
  useLayoutEffect(() => {
    // What is in the middle stays there while the bars are stretched.
    const element = scroller.current;
    const row = rows[Math.min(Math.floor(((element?.scrollTop ?? 0) + (element?.clientHeight ?? 0) / 2) / height), rows.length - 1)];
    const span = row === undefined ? null : spanOf(row.task, now);
    if (element === null || span === null) return;
    const names = element.querySelector<HTMLElement>(".timeline-name");
    const left = (names?.offsetWidth ?? 0) + 40;
    element.scrollLeft = scale.place((span.from + span.to) / 2) * (element.scrollWidth - left) - (element.clientWidth - left) / 2;
  }, [zoom]);
  return (
    <div class="timeline">
      <div class="timeline-head row">
        <span class="soft">{scale.busy === 0 && scale.millis === 0 ? "" : headText(scale)}</span>
        <div class="button-row" role="toolbar" aria-label="Zoom of the timeline">
          <Button kind="quiet" aria-label="Shrink the timeline" disabled={zoom === 0} onClick={() => setZoom(zoom - 1)}>
            −
          </Button>
          <span class="soft timeline-zoom">{ZOOMS[zoom]}×</span>
          <Button kind="quiet" aria-label="Stretch the timeline" disabled={zoom === ZOOMS.length - 1} onClick={() => setZoom(zoom + 1)}>
            +
          </Button>
        </div>
      </div>
      <div class="timeline-scroller" ref={scroller} tabIndex={0} role="region" aria-label="Tasks by superstep" data-zoom={ZOOMS[zoom]} data-touched={isTouched ? "" : undefined} data-summaries={hasSummaries ? "" : undefined}>
        <ul class="timeline-rows" role="list" aria-label="Timeline" style={{ paddingTop: `${above}px`, paddingBottom: `${below}px` }}>
          {rows.slice(from, to).map((row, at) => (
            <Row key={row.key} row={row} scale={scale} now={now} isSelected={selected === row.checkpoint} isLater={selected !== null && row.checkpoint >= selected && row.within.length === 0} isDiverging={diverging.has(row.key)} isOpen={open.has(row.key)} hasSummaries={hasSummaries} onToggle={onToggle} href={address(row)} position={from + at + 1} total={rows.length} />
          ))}
        </ul>
      </div>
    </div>
  );
}

/** Keeps the newest task in view for whoever looks at it, and shows the tasks of a checkpoint that is chosen. */
function useFollow(scroller: { current: HTMLDivElement | null }, rows: TimelineRow[], selected: number | null, height: number, isRunning: boolean): void {
  const isAtEnd = useRef(isRunning);
  useLayoutEffect(() => {
    const element = scroller.current;
    if (element === null) return;
    const note = (): void => void (isAtEnd.current = element.scrollTop + element.clientHeight >= element.scrollHeight - height);
    element.addEventListener("scroll", note, { passive: true });
    return () => element.removeEventListener("scroll", note);
  }, []);
  useLayoutEffect(() => {
    if (selected === null && isAtEnd.current) scroller.current?.scrollTo({ top: rows.length * height });
  }, [rows.length, selected]);
  useLayoutEffect(() => {
    const at = rows.findIndex(({ checkpoint, within }) => checkpoint === selected && within.length === 0);
    if (at >= 0) revealRow(scroller.current, at, height);
  }, [selected]);
}

/** Shows the first row that differs, once there is one. */
function useReveal(scroller: { current: HTMLDivElement | null }, rows: TimelineRow[], diverging: ReadonlySet<string>, height: number): void {
  const key = [...diverging].join();
  useLayoutEffect(() => {
    const at = rows.findIndex((row) => diverging.has(row.key));
    if (at < 0) return;
    revealRow(scroller.current, at, height);
    scroller.current?.scrollIntoView({ block: "nearest" });
  }, [key]);
}

interface RowProps {
  row: TimelineRow;
  scale: Scale;
  now: number | null;
  isSelected: boolean;
  /** Set if it ran after the checkpoint that is shown. */
  isLater: boolean;
  isDiverging: boolean;
  isOpen: boolean;
  /** Set if summaries have a line of their own. */
  hasSummaries: boolean;
  onToggle: (row: TimelineRow) => void;
  href: string;
  position: number;
  total: number;
}

function Row({ row, scale, now, isSelected, isLater, isDiverging, isOpen, hasSummaries, onToggle, href, position, total }: RowProps) {
  const { task, step, within, isFirst, lanes } = row;
  return (
    <li class="timeline-row" data-first={isFirst ? "" : undefined} data-selected={isSelected ? "" : undefined} data-later={isLater ? "" : undefined} data-diverges={isDiverging ? "" : undefined} aria-posinset={position} aria-setsize={total}>
      <span class="timeline-step" aria-hidden="true">
        {isFirst && within.length === 0 ? step : ""}
      </span>
      <span class="timeline-name" data-depth={Math.min(within.length, 4)}>
        {task.has_inside ? (
          <button class="timeline-toggle" type="button" aria-expanded={isOpen} aria-label={`Inside ${task.node}, superstep ${step}`} onClick={() => onToggle(row)}>
            {isOpen ? "▾" : "▸"}
          </button>
        ) : (
          <span class="timeline-toggle" />
        )}
        <TaskLink row={row} href={href} now={now} />
        {task.attempts > 1 && (
          <span class="timeline-attempts" aria-hidden="true">
            attempt {task.attempts}
          </span>
        )}
        {isDiverging && <span class="timeline-diverges">differs</span>}
        {isFirst && lanes > 1 && <span class="timeline-lanes">× {lanes}</span>}
      </span>
      <TaskBar row={row} scale={scale} now={now} />
      {hasSummaries && <TaskSummary row={row} />}
    </li>
  );
}

function headText({ millis, busy, gaps }: Scale): string {
  const cut = gaps.length === 0 ? "" : `, idle ${gapText({ at: 0, width: 0, millis: gaps.reduce((sum, gap) => sum + gap.millis, 0) })} cut short`;
  return gaps.length === 0 ? durationText(millis) : `${durationText(busy)} of work${cut}`;
}
