// The tasks of a run as rows with bars on an axis of time. Stretches in which nothing ran are cut short. Knows no DOM.

import type { Brief, CheckpointEntry } from "../api/run_types";
import { stateOf } from "./graph";
import { costOf } from "./journal";
import { durationText, spanText } from "./time";

export interface TimelineRow {
  /** `3:3-0`: the checkpoint that planned it, and its id. */
  key: string;
  checkpoint: number;
  step: number;
  task: Brief;
  /** The tasks whose subgraphs it is in, as keys. */
  within: string[];
  /** Set for the first task of a superstep. */
  isFirst: boolean;
  /** The number of tasks of its superstep that are shown. */
  lanes: number;
}

export interface Shown {
  isNoiseShown: boolean;
  /** The keys of the tasks whose subgraphs are open. */
  open: ReadonlySet<string>;
  /** The checkpoints inside a task, by its key. */
  inside: ReadonlyMap<string, CheckpointEntry[]>;
}

/** Returns a row for each task, in the order of the supersteps; those of open subgraphs follow their task. */
export function timelineRows(line: CheckpointEntry[], shown: Shown, within: string[] = []): TimelineRow[] {
  const rows: TimelineRow[] = [];
  for (const checkpoint of line) {
    const { all, quiet } = rowsOf(checkpoint, within);
    for (const row of shown.isNoiseShown ? all : quiet) {
      rows.push(row);
      const inside = shown.open.has(row.key) ? shown.inside.get(row.key) : undefined;
      if (inside !== undefined) for (const inner of timelineRows(inside, shown, [...within, row.key])) rows.push(inner);
    }
  }
  return rows;
}

/** Returns the number of tasks that are noise. */
export function countNoise(line: CheckpointEntry[]): number {
  return line.reduce((sum, checkpoint) => sum + noiseOf(checkpoint), 0);
}

interface OwnRows {
  all: TimelineRow[];
  quiet: TimelineRow[];
}

/** Rows that were made, so that a change of a long run makes only those of its newest checkpoints. */
const madeRows = new WeakMap<CheckpointEntry, OwnRows>();

function rowsOf(checkpoint: CheckpointEntry, within: string[]): OwnRows {
  const known = madeRows.get(checkpoint);
  if (known !== undefined) return known;
  const made = { all: makeRows(checkpoint, checkpoint.tasks, within), quiet: makeRows(checkpoint, checkpoint.tasks.filter((task) => !isNoise(task)), within) };
  madeRows.set(checkpoint, made);
  return made;
}

function noiseOf(checkpoint: CheckpointEntry): number {
  const { all, quiet } = rowsOf(checkpoint, []);
  return all.length - quiet.length;
}

function makeRows({ checkpoint, step }: CheckpointEntry, tasks: Brief[], within: string[]): TimelineRow[] {
  return tasks.map((task, at) => ({ key: `${checkpoint}:${task.id}`, checkpoint, step: step + 1, task, within, isFirst: at === 0, lanes: tasks.length }));
}

/** START, and tasks that are done and have left nothing behind. */
export function isNoise({ node, status, writes, effects, questions, has_inside, attempts }: Brief): boolean {
  if (node === "__start__") return true;
  return status === "done" && writes === 0 && effects === 0 && questions === 0 && !has_inside && attempts <= 1;
}

export interface Span {
  from: number;
  to: number;
}

/** Returns when a task ran, in milliseconds; null if it has not started. One that runs ends `now`, which is null if nothing runs. */
export function spanOf({ started_at, ended_at, status }: Brief, now: number | null): Span | null {
  if (started_at === null) return null;
  const from = Date.parse(started_at);
  const to = ended_at !== null ? Date.parse(ended_at) : status === "pending" ? (now ?? from) : from;
  return { from, to: Math.max(from, to) };
}

const madeSpans = { all: new WeakMap<CheckpointEntry, Span[]>(), quiet: new WeakMap<CheckpointEntry, Span[]>() };

/** Returns when the tasks of a line ran: a few spans for each checkpoint. */
export function spansOf(line: CheckpointEntry[], now: number | null, isNoiseShown: boolean): Span[] {
  const made = isNoiseShown ? madeSpans.all : madeSpans.quiet;
  return line.flatMap((checkpoint) => {
    const known = made.get(checkpoint);
    if (known !== undefined) return known;
    const spans = mergeSpans(checkpoint.tasks.filter((task) => isNoiseShown || !isNoise(task)).flatMap((task) => spanOf(task, now) ?? []));
    if (checkpoint.tasks.every(({ status }) => status !== "pending")) made.set(checkpoint, spans);
    return spans;
  });
}

/** A stretch without work, and its place on the axis. */
export interface Gap {
  at: number;
  width: number;
  millis: number;
}

/** An axis from 0 to 1. */
export interface Scale {
  /** All time between the first start and the last end. */
  millis: number;
  /** The time in which something ran. */
  busy: number;
  gaps: Gap[];
  place: (time: number) => number;
}

interface Piece extends Span {
  at: number;
  width: number;
}

/** The part of the work that a gap must exceed to be cut, and the part of the axis that all cut gaps have. */
const [LONG, GAPS, GAP] = [0.15, 0.3, 0.05];

/** Makes the axis for spans. Gaps that are long beside the work have a small, fixed width. */
export function makeScale(spans: Span[]): Scale {
  const busy = mergeSpans(spans);
  const [first, last] = [busy[0]?.from ?? 0, busy.at(-1)?.to ?? 0];
  const work = busy.reduce((sum, { from, to }) => sum + to - from, 0);
  const limit = Math.max(work * LONG, 1000);
  const parts = splitAtGaps(busy, limit);
  const shown = parts.reduce((sum, { from, to }) => sum + Math.max(to - from, 1), 0);
  const cuts = parts.length - 1;
  const gapWidth = cuts === 0 ? 0 : Math.min(GAP, GAPS / cuts);
  const pieces: Piece[] = [];
  let at = 0;
  for (const { from, to } of parts) {
    const width = (Math.max(to - from, 1) / shown) * (1 - cuts * gapWidth);
    pieces.push({ from, to, at, width });
    at += width + gapWidth;
  }
  const gaps = pieces.slice(1).map((piece, nth) => ({ at: piece.at - gapWidth, width: gapWidth, millis: piece.from - (pieces[nth]?.to ?? 0) }));
  return { millis: last - first, busy: work, gaps, place: (time) => placeOf(pieces, time, gapWidth) };
}

function mergeSpans(spans: Span[]): Span[] {
  const sorted = isSorted(spans) ? spans : [...spans].sort((a, b) => a.from - b.from);
  const merged: Span[] = [];
  for (const { from, to } of sorted) {
    const last = merged.at(-1);
    if (last !== undefined && from <= last.to) last.to = Math.max(last.to, to);
    else merged.push({ from, to });
  }
  return merged;
}

function isSorted(spans: Span[]): boolean {
  return spans.every(({ from }, at) => at === 0 || from >= (spans[at - 1]?.from ?? 0));
}

function splitAtGaps(busy: Span[], limit: number): Span[] {
  const parts: Span[] = [];
  for (const { from, to } of busy) {
    const last = parts.at(-1);
    if (last !== undefined && from - last.to <= limit) last.to = to;
    else parts.push({ from, to });
  }
  return parts;
}

function placeOf(pieces: Piece[], time: number, gapWidth: number): number {
  let [low, high] = [0, pieces.length - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((pieces[middle]?.from ?? 0) <= time) low = middle;
    else high = middle - 1;
  }
  const piece = pieces[low];
  if (piece === undefined) return 0;
  const next = pieces[low + 1];
  if (time > piece.to && next !== undefined) return piece.at + piece.width + ((time - piece.to) / (next.from - piece.to)) * gapWidth;
  const part = (time - piece.from) / Math.max(piece.to - piece.from, 1);
  return piece.at + Math.min(Math.max(part, 0), 1) * piece.width;
}

/** Returns whether the node of a task has said what it does. */
export function hasSummary({ summary, label }: Brief): boolean {
  return (summary ?? label ?? "") !== "";
}

/** `It is fine. · $0.0040`: what a task did, in the words of its node, and its cost. */
export function summaryText({ summary, label, cost }: Brief): string {
  return [summary ?? label, costOf(cost)].filter((word) => word != null && word !== "").join(" · ");
}

/** `Review, chapter 1, superstep 3, ran, 12 ms, attempt 2, $0.004, It is fine.`: a row in words. */
export function rowText({ task, step }: TimelineRow, now: number | null): string {
  const span = spanOf(task, now);
  const state = stateOf(task, now !== null) ?? "not started";
  const words = [task.label == null ? task.node : `${task.node}, ${task.label}`, `superstep ${step}`, state];
  if (span !== null && task.status !== "interrupted") words.push(durationText(span.to - span.from));
  if (task.attempts > 1) words.push(`attempt ${task.attempts}`);
  return [...words, costOf(task.cost), task.summary].filter((word) => word != null).join(", ");
}

export function gapText({ millis }: Gap): string {
  return spanText(millis);
}
