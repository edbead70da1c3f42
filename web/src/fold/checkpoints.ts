// The checkpoints of a run as pages of them come in: how large a page is, how pages are put together, and the line that leads to one of the
// checkpoints. Knows no request.

import type { CheckpointEntry, CheckpointPage } from "../api/run_types";

/** What is known of the checkpoints: newest first, without a gap. */
export interface Known {
  list: CheckpointEntry[];
  /** Where the earlier ones begin; null if all are known. */
  next: number | null;
}

/** The checkpoints of a page at most. */
export const PAGE = 50;
/** The checkpoints that are read first, and the tasks of a page, about: an answer with more takes the page too long to read. */
const [FIRST, TASKS] = [10, 3000];

/** Returns how many checkpoints to ask for after some that are like them: fewer of those with many tasks. */
export function pageSize(list: CheckpointEntry[]): number {
  if (list.length === 0) return FIRST;
  return Math.min(Math.max(Math.floor((TASKS * list.length) / Math.max(tasksOf(list), 1)), 1), PAGE);
}

/** Returns whether a page is enough to be shown, before earlier ones are asked for. */
export function isEnough({ checkpoints, next }: CheckpointPage): boolean {
  return next === null || checkpoints.length >= PAGE || tasksOf(checkpoints) >= TASKS;
}

function tasksOf(list: CheckpointEntry[]): number {
  return list.reduce((sum, { tasks }) => sum + tasks.length, 0);
}

/** Puts a page of the newest checkpoints before what is known. Null if checkpoints between them are missing. */
export function joinNewest(known: Known | null, page: CheckpointPage): Known | null {
  const oldest = page.checkpoints.at(-1)?.checkpoint;
  if (known === null || page.next === null || oldest === undefined) return { list: page.checkpoints, next: page.next };
  const at = known.list.findIndex(({ checkpoint }) => checkpoint < oldest);
  const meets = known.list.some(({ checkpoint }) => checkpoint === oldest) || (known.list[0]?.checkpoint ?? 0) > oldest;
  if (!meets) return null;
  return { list: [...page.checkpoints, ...(at < 0 ? [] : known.list.slice(at))], next: at < 0 ? page.next : known.next };
}

/** Puts a page of earlier checkpoints after what is known. */
export function joinEarlier(known: Known, page: CheckpointPage): Known {
  const oldest = known.list.at(-1)?.checkpoint ?? Infinity;
  return { list: [...known.list, ...page.checkpoints.filter(({ checkpoint }) => checkpoint < oldest)], next: page.next };
}

/** Returns whether a thread has no checkpoint of a run: none at all, or a state that was written from outside. */
export function isOnlyWritten({ list, next }: Known): boolean {
  return next === null && list.every(({ source }) => source === "update");
}

/** Returns the checkpoints from the first one that is known to the newest, by their parents, oldest first. With `through`, the line that
 * leads over that checkpoint: of a branch that was left, its newest one. */
export function lineOf(list: CheckpointEntry[], through?: number): CheckpointEntry[] {
  const main = ancestors(list, list[0]?.checkpoint);
  if (through === undefined || main.some(({ checkpoint }) => checkpoint === through)) return main;
  const branch = list.find(({ checkpoint }) => ancestors(list, checkpoint).some((one) => one.checkpoint === through));
  return branch === undefined ? main : ancestors(list, branch.checkpoint);
}

/** A line that was left, or that is not the one that is shown. */
export interface Branch {
  /** The last checkpoint that both lines have; null if it is not loaded. */
  from: number | null;
  /** Its newest checkpoint. */
  to: number;
}

/** Returns the lines of the checkpoints that are not the one that is shown, newest first. */
export function branchesOf(list: CheckpointEntry[], line: CheckpointEntry[]): Branch[] {
  const parents = new Map(list.map(({ checkpoint, parent }) => [checkpoint, parent]));
  const [shown, inner] = [new Set(line.map(({ checkpoint }) => checkpoint)), new Set(parents.values())];
  const meets = (leaf: number): number | null => {
    let at: number | null | undefined = leaf;
    while (at != null && !shown.has(at)) at = parents.get(at);
    return at ?? null;
  };
  return list.filter(({ checkpoint }) => !inner.has(checkpoint) && !shown.has(checkpoint)).map(({ checkpoint }) => ({ from: meets(checkpoint), to: checkpoint }));
}

function ancestors(list: CheckpointEntry[], from: number | undefined): CheckpointEntry[] {
  const line: CheckpointEntry[] = [];
  let wanted: number | null | undefined = from;
  for (const checkpoint of list) {
    if (checkpoint.checkpoint !== wanted) continue;
    line.push(checkpoint);
    wanted = checkpoint.parent;
  }
  return line.reverse();
}

/** `checkpoint 5, superstep 3, after Review`. */
export function checkpointText(line: CheckpointEntry[], at: number): string {
  const shown = line[at];
  if (shown === undefined) return "no checkpoint";
  const names = namesOf(line[at - 1]);
  return `checkpoint ${shown.checkpoint}, superstep ${shown.step}, ${origin(shown, names)}`;
}

/** What made a checkpoint: `after Review`, `input`, `written from outside`. */
export function originText(line: CheckpointEntry[], at: number): string {
  const shown = line[at];
  return shown === undefined ? "" : origin(shown, namesOf(line[at - 1]));
}

function origin({ source }: CheckpointEntry, names: string): string {
  if (source === "update") return "state written from outside";
  if (source === "fork") return "start of a branch";
  return source === "input" || names === "" ? "input" : `after ${names}`;
}

function namesOf(before: CheckpointEntry | undefined): string {
  const counts = new Map<string, number>();
  for (const { node } of before?.tasks ?? []) if (node !== "__start__") counts.set(node, (counts.get(node) ?? 0) + 1);
  const names = [...counts].map(([name, count]) => (count > 1 ? `${name} × ${count}` : name));
  return names.length > 4 ? `${names.slice(0, 3).join(", ")} and ${names.length - 3} more` : names.join(", ");
}
