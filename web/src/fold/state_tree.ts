// A state as a tree of which only the open parts are loaded, and what changed in it. Paths are JSON pointers. Knows no request and no DOM.

import type { ChannelChange, PatchEdit } from "../api/debug_types";
import type { ValueEntry, ValueLevel, ValueType } from "../api/run_types";
import type { Json } from "../api/types";

export type Change = "added" | "changed" | "inside" | "removed";

export interface TreeRow {
  path: string;
  /** What `aria-level` says, from 1. */
  level: number;
  name: string;
  type: ValueType;
  preview: string;
  /** The number of parts; null for a value without any. */
  count: number | null;
  /** In bytes. */
  size: number;
  /** Set if the preview is only the first part of a text. */
  isCut: boolean;
  isOpen: boolean;
  isLoading: boolean;
  change: Change | null;
  /** What was there before, if it was a short value. */
  was: string | null;
  position: number;
  siblings: number;
  /** Set for a row that stands for parts that are not loaded. */
  more: { parent: string; after: number } | null;
}

/** The levels that are loaded, by path; `""` is the state. */
export type Levels = ReadonlyMap<string, ValueLevel>;

export interface Changes {
  at: ReadonlyMap<string, { change: Change; was: string | null }>;
  /** The number of parts that were added at the end of a list, by its path. */
  appended: ReadonlyMap<string, number>;
  /** What is gone, by the path of what it was in. */
  removed: ReadonlyMap<string, { name: string; was: string }[]>;
}

export const NO_CHANGES: Changes = { at: new Map(), appended: new Map(), removed: new Map() };
const SHORT = 80;

/** Returns the rows of the open parts, from top to bottom. */
export function treeRows(levels: Levels, open: ReadonlySet<string>, changes: Changes, path = "", level = 1): TreeRow[] {
  const here = levels.get(path);
  if (here?.entries === undefined) return [];
  const rows: TreeRow[] = [];
  const gone = changes.removed.get(path) ?? [];
  const siblings = here.count ?? here.entries.length;
  here.entries.forEach((entry, at) => {
    const row = entryRow(entry, childPath(path, entry.key), { level, position: at + 1, siblings, here, open, levels, changes });
    rows.push(row);
    if (row.isOpen) for (const inner of treeRows(levels, open, changes, row.path, level + 1)) rows.push(inner);
  });
  if (here.next != null) rows.push(moreRow(path, level, here.next, siblings, here.entries.length));
  for (const { name, was } of gone) rows.push(goneRow(path, level, name, was));
  return rows;
}

interface Around {
  level: number;
  position: number;
  siblings: number;
  here: ValueLevel;
  open: ReadonlySet<string>;
  levels: Levels;
  changes: Changes;
}

function entryRow(entry: ValueEntry, path: string, { level, position, siblings, here, open, levels, changes }: Around): TreeRow {
  const hasParts = (entry.type === "object" || entry.type === "array") && (entry.count ?? 0) > 0;
  const isOpen = hasParts && open.has(path);
  const known = changes.at.get(path);
  const isAppended = here.type === "array" && position > siblings - (changes.appended.get(parentPath(path)) ?? 0);
  return {
    path,
    level,
    name: String(entry.key),
    type: entry.type,
    preview: previewOf(entry),
    count: hasParts ? (entry.count ?? null) : null,
    size: entry.size,
    isCut: isCut(entry),
    isOpen,
    isLoading: isOpen && levels.get(path) === undefined,
    change: isAppended ? "added" : (known?.change ?? null),
    was: known?.was ?? null,
    position,
    siblings,
    more: null,
  };
}

function previewOf(entry: ValueEntry): string {
  const { type, count } = entry;
  const preview = entry.preview ?? "";
  if (type === "string") return isCut(entry) ? `"${preview}…` : `"${preview}"`;
  if (type === "array") return count === 0 ? "[]" : `[${count ?? ""}]`;
  return type === "object" ? (count === 0 ? "{}" : `{${preview}${(count ?? 0) > 8 ? ", …" : ""}}`) : preview;
}

function isCut({ type, preview, count }: ValueEntry): boolean {
  return type === "string" && (preview ?? "").length < (count ?? 0);
}

function moreRow(parent: string, level: number, after: number, siblings: number, shown: number): TreeRow {
  const base = { count: null, size: 0, isCut: false, isOpen: false, isLoading: false, change: null, was: null, type: "null" as const };
  return { ...base, path: `${parent}\n`, level, name: `Show more of ${siblings}`, preview: `${siblings - shown} more`, position: shown + 1, siblings, more: { parent, after } };
}

function goneRow(parent: string, level: number, name: string, was: string): TreeRow {
  const base = { count: null, size: 0, isCut: false, isOpen: false, isLoading: false, position: 0, siblings: 0, type: "null" as const, more: null };
  return { ...base, path: `${childPath(parent, name)}\n`, level, name, preview: "removed", change: "removed", was };
}

export function childPath(parent: string, key: string | number): string {
  return `${parent}/${String(key).replaceAll("~", "~0").replaceAll("/", "~1")}`;
}

export function parentPath(path: string): string {
  return path.slice(0, Math.max(path.lastIndexOf("/"), 0));
}

/** Reads what a diff says of places in the newer state. Positions in lists are those after all edits. */
export function readChanges(channels: ChannelChange[]): Changes {
  const at = new Map<string, { change: Change; was: string | null }>();
  const appended = new Map<string, number>();
  const removed = new Map<string, { name: string; was: string }[]>();
  for (const { channel, change, patch } of channels) {
    const root = childPath("", channel);
    const own = change === "added" ? "added" : patch.some(({ path }) => path !== root) ? "inside" : "changed";
    if (change === "removed") push(removed, "", { name: channel, was: short(oldOf(patch[0])) });
    else at.set(root, { change: own, was: null });
    if (change === "changed") for (const edit of patch) applyEdit(edit, { at, appended, removed });
  }
  return { at, appended, removed };
}

interface Marks {
  at: Map<string, { change: Change; was: string | null }>;
  appended: Map<string, number>;
  removed: Map<string, { name: string; was: string }[]>;
}

function applyEdit(edit: PatchEdit, { at, appended, removed }: Marks): void {
  const { op, path } = edit;
  const parent = parentPath(path);
  const key = path.slice(parent.length + 1);
  markAbove(parent, at);
  if (op === "add" && key === "-") appended.set(parent, (appended.get(parent) ?? 0) + 1);
  else if (op === "replace") at.set(path, { change: "changed", was: short(oldOf(edit)) });
  else if (op === "add") {
    shift(at, parent, key, 1);
    at.set(path, { change: "added", was: null });
  } else {
    const isOfList = /^\d+$/.test(key);
    for (const marked of [...at.keys()]) if (marked === path || marked.startsWith(`${path}/`)) at.delete(marked);
    if (isOfList) shift(at, parent, key, -1);
    else push(removed, parent, { name: unescape(key), was: short(oldOf(edit)) });
  }
}

function oldOf(edit: PatchEdit | undefined): Json | undefined {
  return edit === undefined || edit.op === "add" ? undefined : edit.old;
}

function markAbove(path: string, at: Marks["at"]): void {
  for (let above = path; above !== ""; above = parentPath(above)) if (!at.has(above)) at.set(above, { change: "inside", was: null });
}

/** Moves the marks of later parts of a list. A key that is no number is of an object. */
function shift(at: Marks["at"], parent: string, key: string, by: number): void {
  if (!/^\d+$/.test(key)) return;
  const moved: [string, { change: Change; was: string | null }][] = [];
  for (const [path, mark] of at) {
    const [index = "", ...rest] = path.startsWith(`${parent}/`) ? path.slice(parent.length + 1).split("/") : [];
    if (!/^\d+$/.test(index) || Number(index) < Number(key)) continue;
    at.delete(path);
    moved.push([[`${parent}/${Number(index) + by}`, ...rest].join("/"), mark]);
  }
  for (const [path, mark] of moved) at.set(path, mark);
}

function push<T>(map: Map<string, T[]>, key: string, value: T): void {
  map.set(key, [...(map.get(key) ?? []), value]);
}

function short(value: Json | undefined): string {
  const text = JSON.stringify(value ?? null);
  return text.length > SHORT ? `${text.slice(0, SHORT - 1)}…` : text;
}

function unescape(key: string): string {
  return key.replaceAll("~1", "/").replaceAll("~0", "~");
}

/** Adds a page of a level to what is loaded of it. */
export function joinLevel(known: ValueLevel | undefined, page: ValueLevel): ValueLevel {
  return known === undefined ? page : { ...page, entries: [...(known.entries ?? []), ...(page.entries ?? [])] };
}

/** `812 B`, `4.2 KB`, `10 MB`. */
export function sizeText(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  const [value, unit] = bytes < 1_000_000 ? [bytes / 1000, "KB"] : [bytes / 1_000_000, "MB"];
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${unit}`;
}

/** Returns the row that a key of a tree leads to, as the patterns of ARIA say; null if it opens or closes instead, or leads nowhere. */
export function keyTarget(rows: TreeRow[], at: number, key: string): number | null {
  const row = rows[at];
  if (row === undefined) return null;
  switch (key) {
    case "ArrowDown":
      return Math.min(at + 1, rows.length - 1);
    case "ArrowUp":
      return Math.max(at - 1, 0);
    case "Home":
      return 0;
    case "End":
      return rows.length - 1;
    case "ArrowRight":
      return row.isOpen && (rows[at + 1]?.level ?? 0) > row.level ? at + 1 : null;
    case "ArrowLeft":
      return row.isOpen ? null : parentOf(rows, at, row.level);
    default:
      return null;
  }
}

function parentOf(rows: TreeRow[], at: number, level: number): number | null {
  const above = rows.findLastIndex((row, index) => index < at && row.level < level);
  return above < 0 ? null : above;
}
