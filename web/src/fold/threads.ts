// Threads as the rows of a list: what each is about, where it is, and how the list keeps its place while threads come and go. Knows no DOM.

import type { Json, JsonObject } from "../api/types";
import { text } from "./schema";

/** A thread as a list has it: without its state. */
export interface ListedThread {
  thread_id: string;
  created_at: string;
  updated_at: string;
  metadata: JsonObject;
  status: ThreadStatus;
  interrupts: Record<string, { superstep?: { node: string; name: string } }[]>;
  error: { error: string; message: string } | null;
}

export type ThreadStatus = "idle" | "busy" | "interrupted" | "error";

/** The fields that a list asks for. */
export const LIST_FIELDS = ["thread_id", "created_at", "updated_at", "metadata", "status", "interrupts", "error"];

/** The position of a thread as its own route has it; `cost` in millionths of a dollar. */
export interface ThreadPlace {
  status?: string;
  step?: number | null;
  next?: string[];
  running?: { node: string }[];
  reason?: string | null;
  cost?: number | null;
  tokens?: Json;
}

export interface Filter {
  search: string;
  status: ThreadStatus | "";
  graph: string;
}

/** Returns the body of a search for the threads that fit. */
export function searchBody({ search, status, graph }: Filter): JsonObject {
  return {
    ...(search.trim() === "" ? {} : { search: search.trim() }),
    ...(status === "" ? {} : { status }),
    ...(graph === "" ? {} : { metadata: { graph_id: graph } }),
  };
}

export function graphOf({ metadata }: ListedThread): string {
  return text(metadata["graph_id"]) ?? "";
}

export function titleOf({ metadata }: ListedThread): string | null {
  return text(metadata["title"]) ?? text(metadata["about"]) ?? text(metadata["name"]);
}

export interface Mark {
  text: string;
  kind: "good" | "warn" | "bad" | "accent" | undefined;
}

const MARKS: Record<ThreadStatus, Mark> = {
  idle: { text: "finished", kind: "good" },
  busy: { text: "running", kind: "accent" },
  interrupted: { text: "waits", kind: "warn" },
  error: { text: "failed", kind: "bad" },
};

/** The choices of the filter, by what a person looks for. */
export const STATUSES: { value: ThreadStatus; text: string }[] = [
  { value: "busy", text: "Running" },
  { value: "interrupted", text: "Waiting" },
  { value: "error", text: "Failed" },
  { value: "idle", text: "Finished or new" },
];

/** Statuses that a list does not tell apart. */
const OWN_MARKS: Record<string, Mark> = {
  "needs-migration": { text: "needs migration", kind: "warn" },
  damaged: { text: "damaged", kind: "bad" },
  waiting: { text: "sleeps", kind: "accent" },
  "awaiting-signal": { text: "awaits signal", kind: "accent" },
};

export function markOf(thread: ListedThread, place?: ThreadPlace): Mark {
  const own = OWN_MARKS[place?.status ?? ""];
  if (own !== undefined) return own;
  if (thread.status === "idle" && graphOf(thread) === "") return { text: "new", kind: undefined };
  if (thread.status === "interrupted" && asksOf(thread).length === 0) return { text: "stopped", kind: "warn" };
  return MARKS[thread.status] ?? { text: thread.status, kind: undefined };
}

/** Returns the nodes whose questions are open. */
function asksOf({ interrupts }: ListedThread): string[] {
  const nodes = Object.values(interrupts).flat().map((asked) => asked.superstep?.node ?? "");
  return [...new Set(nodes.filter((node) => node !== ""))];
}

/** Says where a thread is: `step 3, next review`. */
export function placeText(thread: ListedThread, place: ThreadPlace | undefined): string {
  if (thread.status === "error" && thread.error !== null) return firstLine(thread.error.message);
  const asks = asksOf(thread);
  const [runs, next] = [nodesOf(place?.running?.map(({ node }) => node)), nodesOf(place?.next)];
  const where = asks.length > 0 ? `asked by ${listText(asks)}` : runs.length > 0 ? `runs ${listText(runs)}` : next.length > 0 ? `next ${listText(next)}` : "";
  const step = typeof place?.step === "number" && place.step >= 0 ? `step ${place.step}` : "";
  return [step, where].filter((part) => part !== "").join(", ");
}

function nodesOf(names: string[] | undefined): string[] {
  return [...new Set(names ?? [])];
}

function listText(names: string[]): string {
  return names.length <= 3 ? names.join(", ") : `${names.slice(0, 2).join(", ")} and ${names.length - 2} more`;
}

function firstLine(words: string): string {
  return words.split("\n", 1)[0] ?? "";
}

/** The pages of a list that were read, by their number; `count` is that of all threads that fit. */
export interface Pages {
  size: number;
  count: number;
  read: ReadonlyMap<number, ListedThread[]>;
}

export function emptyPages(size: number): Pages {
  return { size, count: 0, read: new Map() };
}

export function rowAt({ read, size }: Pages, index: number): ListedThread | undefined {
  return read.get(Math.floor(index / size))?.[index % size];
}

/** Returns the rows between two numbers that were read. */
export function rowsBetween(pages: Pages, start: number, end: number): ListedThread[] {
  const rows: ListedThread[] = [];
  for (let index = start; index < end; index++) {
    const row = rowAt(pages, index);
    if (row !== undefined) rows.push(row);
  }
  return rows;
}

/** Returns the pages that have the rows between two numbers. */
export function pagesBetween({ size, count }: Pages, start: number, end: number): number[] {
  const numbers: number[] = [];
  for (let page = Math.floor(start / size); page * size < Math.min(end, count); page++) numbers.push(page);
  return numbers;
}

/**
 * Returns where the server's list has the first row of a page: threads that were made since the list was read are before it there, and
 * those of earlier pages that were deleted are not.
 */
export function offsetOf({ size, read }: Pages, page: number, fresh: number, gone: ReadonlySet<string>): number {
  let before = 0;
  for (const [number, threads] of read) if (number < page) before += threads.filter(({ thread_id }) => gone.has(thread_id)).length;
  return Math.max(page * size + fresh - before, 0);
}

/** Puts newer versions of threads in the places of the old ones. */
export function withChanges(pages: Pages, changed: ListedThread[]): Pages {
  const byName = new Map(changed.map((thread) => [thread.thread_id, thread]));
  const renew = (threads: ListedThread[]): ListedThread[] =>
    threads.some(({ thread_id }) => byName.has(thread_id)) ? threads.map((old) => byName.get(old.thread_id) ?? old) : threads;
  return { ...pages, read: new Map([...pages.read].map(([page, threads]) => [page, renew(threads)])) };
}

/** Returns the names of all threads that were read, in their order. */
export function readNames(pages: Pages): string[] {
  const order = [...pages.read.keys()].sort((a, b) => a - b);
  return [...new Set(order.flatMap((page) => (pages.read.get(page) ?? []).map(({ thread_id }) => thread_id)))];
}

/** Returns those that were made after the newest that the list has. */
export function newerThan(pages: Pages, threads: ListedThread[]): ListedThread[] {
  const first = pages.read.get(0);
  if (first === undefined) return [];
  const [newest, known] = [first[0]?.created_at ?? "", new Set(readNames(pages))];
  return threads.filter(({ thread_id, created_at }) => created_at >= newest && !known.has(thread_id));
}

/** What became of one thread of several. */
export interface Outcome {
  thread: string;
  error: string | null;
}

/** Says what became of several: `3 cancelled; 1 was not`. */
export function outcomeText(done: string, outcomes: Outcome[]): string {
  const failed = outcomes.filter(({ error }) => error !== null).length;
  const well = outcomes.length - failed;
  if (failed === 0) return `${countText(well)} ${done}.`;
  return `${countText(well)} ${done}; ${failed} ${failed === 1 ? "was" : "were"} not:`;
}

export function countText(count: number): string {
  return count === 1 ? "1 thread" : `${count.toLocaleString("en")} threads`;
}

/** `$0.012`, `$3.40`; from millionths of a dollar. */
export function costText(millionths: number): string {
  const dollars = millionths / 1_000_000;
  if (millionths === 0) return "$0";
  if (dollars < 0.01) return `$${dollars.toFixed(4)}`;
  return `$${dollars.toLocaleString("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`;
}
