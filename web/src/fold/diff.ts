// Unified diffs as files, hunks and lines, also those of git with renames, modes and binary files. A diff that is cut or damaged is read as
// far as it goes. Knows no DOM.

import { readHeader, takeNames, type FileHeader } from "./diff_header";
import { hashOf } from "./hash";

export type LineKind = "same" | "added" | "removed" | "note";

export interface DiffLine {
  kind: LineKind;
  text: string;
  /** The number in the old file; null for an added line. */
  old: number | null;
  /** The number in the new file; null for a removed line. */
  new: number | null;
}

export interface Hunk {
  /** What git writes behind the numbers: the function around it. */
  heading: string;
  lines: DiffLine[];
}

export interface FileDiff extends FileHeader {
  hunks: Hunk[];
  added: number;
  removed: number;
}

const HUNK = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)$/;

/** Reads a diff. Lines that belong to no file are left out. */
export function parseDiff(text: string): FileDiff[] {
  const lines = text.split("\n");
  const files: FileDiff[] = [];
  let file: FileDiff | null = null;
  let at = 0;
  while (at < lines.length) {
    const line = lines[at] ?? "";
    const header = readHeader(lines, at, file !== null && file.hunks.length === 0 && !file.hasNames ? file : null);
    if (header !== null) {
      if (header.isNew || file === null) files.push((file = { ...header.file, hunks: [], added: 0, removed: 0 }));
      at += header.lines;
      continue;
    }
    const hunk = HUNK.exec(line);
    if (hunk === null) {
      at += 1;
      continue;
    }
    if (file === null) files.push((file = { ...takeNames(null, null), hunks: [], added: 0, removed: 0 }));
    at = readHunk(file, hunk, lines, at + 1);
  }
  return files;
}

/** Reads the lines of a hunk; returns the index of the first that is not in it. */
function readHunk(file: FileDiff, match: RegExpExecArray, lines: string[], start: number): number {
  const hunk: Hunk = { heading: match[5] ?? "", lines: [] };
  file.hunks.push(hunk);
  let [old, now] = [Number(match[1]), Number(match[3])];
  const [oldEnd, nowEnd] = [old + Number(match[2] ?? 1), now + Number(match[4] ?? 1)];
  let at = start;
  for (; at < lines.length; at += 1) {
    const line = lines[at] ?? "";
    const mark = line[0];
    if (mark === "\\") {
      hunk.lines.push({ kind: "note", text: line.slice(2), old: null, new: null });
      continue;
    }
    if (old >= oldEnd && now >= nowEnd) break;
    const text = line.slice(1);
    if (mark === "+") {
      hunk.lines.push({ kind: "added", text, old: null, new: now++ });
      file.added += 1;
    } else if (mark === "-") {
      hunk.lines.push({ kind: "removed", text, old: old++, new: null });
      file.removed += 1;
    } else if (mark === " " || (line === "" && at < lines.length - 1)) {
      hunk.lines.push({ kind: "same", text, old: old++, new: now++ });
    } else break;
  }
  return at;
}

/** Returns whether a text is a diff. */
export function looksLikeDiff(words: string): boolean {
  const start = words.slice(0, 20_000);
  return /^diff --git \S/m.test(start) || (/^--- \S/m.test(start) && /^\+\+\+ \S/m.test(start) && /^@@ -\d+(,\d+)? \+\d+(,\d+)? @@/m.test(start));
}

/** Returns the number of lines that a file shows. */
export function lineCount(file: FileDiff): number {
  return file.hunks.reduce((sum, { lines }) => sum + lines.length + 1, 0);
}

/** Returns a short mark of a file's change, by which it is known again when the page is loaded once more. */
export function markOf(file: FileDiff): string {
  const changed = file.hunks.flatMap(({ lines }) => lines.filter(({ kind }) => kind !== "same"));
  return `${hashOf([file.name, ...changed.map(({ kind, text }) => `${kind[0]}${text}`)])}.${file.added}.${file.removed}`;
}
