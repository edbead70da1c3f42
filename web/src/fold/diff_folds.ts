// Which files of a diff are open at first, and which are built at once: as much as a person reads, and as a page holds. Knows no DOM.

import { lineCount, type FileDiff } from "./diff";

/** Files longer than this are folded at first, and those after so many lines in all. */
export const LONG = { wide: { file: 400, all: 800 }, narrow: { file: 60, all: 150 } };
/** So many files and lines are built at once; more come as they are scrolled to. */
const AT_ONCE = { files: 20, lines: 250 };
/** So many files come at once after those. */
export const BLOCK = 8;
/** The height of the head of a file, and of a line. */
const HEIGHT = { head: 82, line: 21 };

/** Returns the files that are open at first. */
export function opened(files: FileDiff[], { file, all }: { file: number; all: number }): Set<number> {
  let shown = 0;
  const open = new Set<number>();
  files.forEach((one, at) => {
    const lines = lineCount(one);
    if (lines === 0 || lines > file || shown + lines > all) return;
    shown += lines;
    open.add(at);
  });
  return open;
}

/** Returns the number of files that are built before anything is scrolled. */
export function builtAtOnce(files: FileDiff[], open: Set<number>): number {
  let lines = 0;
  const end = files.findIndex((file, at) => {
    if (open.has(at)) lines += lineCount(file);
    return at >= AT_ONCE.files || (lines > AT_ONCE.lines && at > 0);
  });
  return end < 0 ? files.length : end;
}

export function starts(from: number, to: number): number[] {
  return Array.from({ length: Math.ceil((to - from) / BLOCK) }, (_, at) => from + at * BLOCK);
}

export function heightOf(file: FileDiff, isOpen: boolean): number {
  return HEIGHT.head + (isOpen ? HEIGHT.line * lineCount(file) : 0);
}

export function sumOf(files: FileDiff[], size: (file: FileDiff, at: number) => number): number {
  return files.reduce((all, file, at) => all + size(file, at), 0);
}
