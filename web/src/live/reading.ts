// How diffs are read in this browser: in one column or two, and which files were seen. Knows no diff.

import { signal } from "@preact/signals";

export type DiffLayout = "one" | "two";

const LAYOUT = "superstep-diff";
const SEEN = "superstep-seen";
/** So many marks are kept, the newest. */
const MOST = 1000;

/** The layout that was chosen; null if none was. */
export const diffLayout = signal<DiffLayout | null>(readLayout());
/** The marks of the changes that were seen. */
export const seenMarks = signal<ReadonlySet<string>>(new Set(readSeen()));

export function chooseLayout(layout: DiffLayout): void {
  diffLayout.value = layout;
  store(LAYOUT, layout);
}

export function markSeen(mark: string, isSeen: boolean): void {
  const marks = [...seenMarks.value].filter((other) => other !== mark);
  if (isSeen) marks.push(mark);
  seenMarks.value = new Set(marks.slice(-MOST));
  store(SEEN, JSON.stringify([...seenMarks.value]));
}

function readLayout(): DiffLayout | null {
  const stored = read(LAYOUT);
  return stored === "one" || stored === "two" ? stored : null;
}

function readSeen(): string[] {
  try {
    const stored: unknown = JSON.parse(read(SEEN) ?? "[]");
    return Array.isArray(stored) ? stored.filter((mark) => typeof mark === "string") : [];
  } catch {
    return [];
  }
}

function read(name: string): string | null {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

function store(name: string, value: string): void {
  try {
    localStorage.setItem(name, value);
  } catch {
    // A browser without storage forgets it.
  }
}
