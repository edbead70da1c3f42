// Checkpoints and tasks of a run, in the shapes of docs/json.md.

import type { Brief, CheckpointEntry } from "../../src/api/run_types";

const START = Date.parse("2026-01-31T09:30:00.000Z");

export function at(millis: number): string {
  return new Date(START + millis).toISOString();
}

export function task(id: string, node: string, span: [number, number] | null, more: Partial<Brief> = {}): Brief {
  const [started_at, ended_at] = span === null ? [null, null] : span.map(at) as [string, string];
  return { id, node, status: "done", attempts: 1, error: null, started_at, ended_at, effects: 0, questions: 0, has_inside: false, path: [node], ...more };
}

export function checkpoint(id: number, parent: number | null, step: number, tasks: Brief[], more: Partial<CheckpointEntry> = {}): CheckpointEntry {
  return { checkpoint: id, parent, step, source: parent === null ? "input" : "loop", created_at: at(id * 1000), next: tasks.map(({ node }) => node), tasks, tags: [], ...more };
}

/** A run that waits in its third superstep. Newest first, as the server sends them. */
export function order(): CheckpointEntry[] {
  return [
    checkpoint(4, 3, 2, [task("4-0", "Approve", [2000, 2000], { status: "interrupted", ended_at: null, questions: 1 })]),
    checkpoint(3, 2, 1, [task("3-0", "Pack", [1000, 1500]), task("3-1", "Pack", [1000, 2000], { attempts: 2, failures: [{ attempt: 1, error: "no box", at: at(1200) }] })]),
    checkpoint(2, 1, 0, [task("2-0", "Check", [0, 1000], { effects: 1 })]),
    checkpoint(1, null, -1, [task("1-0", "__start__", [0, 0])]),
  ];
}
