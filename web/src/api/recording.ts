// A run in an exported file, in the place of a server: its answers by method and path, and its states as the first one and the differences
// between checkpoints. Knows no view.

import { applyPatch, pointerParts, valueAt } from "../fold/json_patch";
import { levelOf } from "../fold/level";
import { isObject } from "../fold/schema";
import type { StateDiff } from "./debug_types";
import type { Json } from "./types";

export interface Recording {
  thread: string;
  exported_at: string;
  /** By `GET /path`, or `POST /path BODY`. */
  answers: Record<string, unknown>;
  /** The state at each checkpoint that has no difference from an earlier one. */
  states: Record<string, Json>;
  /** The checkpoint before each other one. */
  parents: Record<string, string>;
}

/** States that are kept besides those in the file. */
const KEPT = 50;

let recording: Recording | null | undefined;
const made = new Map<string, Json>();

/** Returns the run in the file, or null on a server. */
export function readRecording(): Recording | null {
  recording ??= parse(document.getElementById("recording")?.textContent ?? null);
  return recording;
}

/** Returns whether the page is a file with a run in it. */
export function isRecording(): boolean {
  return readRecording() !== null;
}

/** Returns the answer to a request; undefined if the file does not have it. */
export function recordedAnswer(run: Recording, what: string): unknown {
  if (what in run.answers) return run.answers[what];
  const [, value = "", query = ""] = /^GET \/threads\/[^/]+\/checkpoints\/(\d+)\/value\?(.*)$/.exec(what) ?? [];
  if (value !== "") return levelAt(run, value, new URLSearchParams(query));
  const [, state = "", select = ""] = /^GET \/threads\/[^/]+\/state\/(\d+)\?select=(.*)$/.exec(what) ?? [];
  return state === "" ? undefined : channelsAt(run, state, select.split(","));
}

/** Returns some channels of a state: `values.plan`, `values.tasks`. */
function channelsAt(run: Recording, checkpoint: string, selected: string[]): unknown {
  const state = stateAt(run, checkpoint);
  if (!isObject(state)) return undefined;
  const wanted = new Set(selected.map((path) => path.replace(/^values\./, "")));
  return { values: Object.fromEntries(Object.entries(state).filter(([channel]) => wanted.has(channel))) };
}

function levelAt(run: Recording, checkpoint: string, query: URLSearchParams): unknown {
  const state = stateAt(run, checkpoint);
  const path = query.get("path") ?? "";
  const value = state === undefined ? undefined : valueAt(state, path === "/" ? [] : pointerParts(path));
  return value === undefined ? undefined : levelOf(value, Number(query.get("limit") ?? 200), Number(query.get("after") ?? 0));
}

/** Makes the state at a checkpoint of the nearest one that is known. */
function stateAt(run: Recording, checkpoint: string): Json | undefined {
  const way: string[] = [];
  let at: string | undefined = checkpoint;
  while (at !== undefined && known(run, at) === undefined) {
    way.push(at);
    at = run.parents[at];
  }
  let state = at === undefined ? undefined : known(run, at);
  for (const next of way.reverse()) {
    const diff = run.answers[diffName(run, next)] as StateDiff | undefined;
    if (state === undefined || diff === undefined) return undefined;
    state = diff.channels.reduce<Json>((changed, { channel, change, patch }) => (change === "secret" ? changed : applyPatch(changed, patch.length === 0 && change === "removed" ? [{ op: "remove", path: `/${channel}`, old: null }] : patch)), state);
  }
  if (state !== undefined) keep(checkpoint, state);
  return state;
}

function known(run: Recording, checkpoint: string): Json | undefined {
  return run.states[checkpoint] ?? made.get(checkpoint);
}

function keep(checkpoint: string, state: Json): void {
  made.set(checkpoint, state);
  const [oldest] = made.keys();
  if (made.size > KEPT && oldest !== undefined) made.delete(oldest);
}

function diffName(run: Recording, checkpoint: string): string {
  return `GET /threads/${encodeURIComponent(run.thread)}/diff?from=${run.parents[checkpoint]}&to=${checkpoint}`;
}

function parse(text: string | null): Recording | null {
  return text === null ? null : (JSON.parse(text) as Recording);
}
