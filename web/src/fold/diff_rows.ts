// The lines of a file in a diff as rows: in one column or side by side, and the words in them that differ. Knows no DOM.

import { diffWordsWithSpace } from "diff";

import type { DiffLine, FileDiff } from "./diff";

export type Layout = "one" | "two";

export type Row =
  | { kind: "hunk"; text: string }
  | { kind: "line"; line: DiffLine; mate: DiffLine | null }
  | { kind: "pair"; left: DiffLine | null; right: DiffLine | null };

/** A part of a line; `isChanged` where the other line has something else. */
export interface WordPart {
  text: string;
  isChanged: boolean;
}

/** Words are compared in runs of at most so many lines, and in lines of at most so many characters. */
const RUN = 20;
const LENGTH = 400;
/** Lines with less in common than this are two different lines. */
const COMMON = 0.3;

/** Returns the rows of a file. */
export function rowsOf(file: FileDiff, layout: Layout): Row[] {
  const rows: Row[] = [];
  file.hunks.forEach(({ heading, lines }, nth) => {
    if (nth > 0 || heading !== "") rows.push({ kind: "hunk", text: heading });
    for (const run of runs(lines)) add(rows, run, layout);
  });
  return rows;
}

interface Run {
  removed: DiffLine[];
  added: DiffLine[];
  other: DiffLine | null;
}

function add(rows: Row[], { removed, added, other }: Run, layout: Layout): void {
  if (other !== null) {
    const pair: Row = other.kind === "note" ? { kind: "hunk", text: other.text } : { kind: "pair", left: other, right: other };
    rows.push(layout === "one" && other.kind !== "note" ? { kind: "line", line: other, mate: null } : pair);
    return;
  }
  if (layout === "two") {
    for (let at = 0; at < Math.max(removed.length, added.length); at += 1) rows.push({ kind: "pair", left: removed[at] ?? null, right: added[at] ?? null });
    return;
  }
  const isSmall = removed.length <= RUN && added.length <= RUN;
  removed.forEach((line, at) => rows.push({ kind: "line", line, mate: isSmall ? (added[at] ?? null) : null }));
  added.forEach((line, at) => rows.push({ kind: "line", line, mate: isSmall ? (removed[at] ?? null) : null }));
}

/** Puts the lines that were removed and those that were added in their place together. */
function* runs(lines: DiffLine[]): Generator<Run> {
  let run: Run = { removed: [], added: [], other: null };
  for (const line of lines) {
    const isOther = line.kind === "same" || line.kind === "note";
    const isNext = line.kind === "removed" && run.added.length > 0;
    if ((isOther || isNext) && run.removed.length + run.added.length > 0) {
      yield run;
      run = { removed: [], added: [], other: null };
    }
    if (isOther) yield { removed: [], added: [], other: line };
    else (line.kind === "removed" ? run.removed : run.added).push(line);
  }
  if (run.removed.length + run.added.length > 0) yield run;
}

/** Returns the parts of two lines; null if they are too long, or have too little in common. */
export function wordParts(old: string, now: string): { old: WordPart[]; now: WordPart[] } | null {
  if (old.length > LENGTH || now.length > LENGTH) return null;
  const parts = diffWordsWithSpace(old, now);
  const common = parts.filter(({ added, removed }) => !added && !removed).reduce((sum, { value }) => sum + value.trim().length, 0);
  if (common < COMMON * Math.max(old.trim().length, now.trim().length)) return null;
  const of = (side: "added" | "removed", other: "added" | "removed"): WordPart[] => parts.filter((part) => !part[other]).map((part) => ({ text: part.value, isChanged: part[side] === true }));
  return { old: of("removed", "added"), now: of("added", "removed") };
}
