// The forms of what the server sends about one run: its status, its checkpoints, the outline of a value, a task with its journal. Data only.

import type { StateDiff } from "./debug_types";
import type { Json, JsonObject } from "./types";

/** Tokens are a number, or the parts of a usage. */
export type Tokens = number | { input?: number; output?: number; cache_read?: number; cache_write?: number };

export interface RunningTask {
  /** The node, after those whose subgraphs it is in: `Research/Ask`. */
  node: string;
  /** The id of the task. */
  task?: string;
  label?: string | null;
  summary?: string | null;
  started_at?: string;
  action?: string;
  tokens?: Tokens | null;
  /** In millionths of a dollar, as every cost. */
  cost?: number | null;
}

/** A thread that is damaged has only its name, its status and a reason. */
export interface RunStatus {
  thread: string;
  /** Null before the first run. */
  graph?: string | null;
  status: string;
  step?: number | null;
  checkpoint?: number | null;
  created_at?: string;
  updated_at?: string;
  metadata?: JsonObject;
  next?: string[];
  until?: string | null;
  reason?: string | null;
  help?: string | null;
  owner?: { name?: string | null; host?: string | null; pid?: number | null } | null;
  signals?: { name: string; node: string; until?: string }[];
  advice?: { text: string; command: string }[];
  running?: RunningTask[];
  cost?: number | null;
  tokens?: Tokens | null;
}

export type TaskStatus = "done" | "interrupted" | "failed" | "waiting" | "awaiting-signal" | "pending";

export interface Failure {
  attempt?: number;
  error: string;
  at: string;
}

/** A task in a list. */
export interface Brief {
  id: string;
  node: string;
  status: TaskStatus;
  attempts: number;
  error: string | null;
  started_at: string | null;
  ended_at: string | null;
  label?: string | null;
  summary?: string | null;
  effects: number;
  questions: number;
  has_inside: boolean;
  cost?: number | null;
  tokens?: Tokens | null;
  /** The nodes whose subgraphs it is in, and its own. */
  path?: string[];
  failures?: Failure[];
  /** The number of its updates, where the server says it. */
  writes?: number | null;
}

export interface CheckpointEntry {
  checkpoint: number;
  parent: number | null;
  step: number;
  source: "input" | "loop" | "update" | "fork";
  created_at: string;
  next: string[];
  tasks: Brief[];
  tags: string[];
}

export interface CheckpointPage {
  checkpoints: CheckpointEntry[];
  next: number | null;
}

export type ValueType = "object" | "array" | "string" | "number" | "boolean" | "null";

export interface ValueEntry {
  key: string;
  /** Set if the key is only the first part of a long one. */
  cut?: boolean;
  type: ValueType;
  count?: number | null;
  size: number;
  preview: string | null;
}

/** One level of a value. */
export interface ValueLevel {
  path?: string;
  type: ValueType;
  size: number;
  /** Of a text, its characters. */
  count?: number | null;
  value?: Json;
  cut?: boolean;
  entries?: ValueEntry[];
  next?: number | null;
}

/** The difference between two checkpoints, as far as a state shows it. */
export type DiffReport = Pick<StateDiff, "channels">;

export interface JournalMessage {
  at: string;
  value: Json;
  path?: string[];
}

export interface EffectRun {
  attempt: number;
  end: "done" | "found" | "failed" | "dropped";
  started_at: string;
  ended_at: string | null;
}

export interface JournalEntry {
  kind: "effect" | "value" | "time" | "random" | "id" | "signal" | "sleep";
  key: string;
  at: string;
  attempt: number | null;
  value?: Json;
  until?: string;
  path?: string[];
  within?: string[];
  by_handler?: boolean;
  arguments?: Json;
  result?: Json;
  error?: string;
  idempotency_key?: string;
  started_at?: string;
  ended_at?: string | null;
  repeated?: boolean;
  runs?: EffectRun[];
  messages?: JournalMessage[];
}

export interface Answer {
  name: string;
  value: Json;
  by: string | null;
  at: string;
  note: string | null;
}

export interface JournalQuestion {
  name: string;
  node: string;
  payload: Json;
  answer: Answer | null;
}

export interface Journal {
  children: { at: string; call: number; checkpoint: number; over: boolean; step: number }[];
  entries: JournalEntry[];
  messages: JournalMessage[];
  questions: JournalQuestion[];
}

export interface TaskDetail {
  id: string;
  node: string;
  status: TaskStatus;
  attempts: number;
  error: string | null;
  failures?: Failure[];
  effects?: number;
  writes?: JsonObject[] | null;
  /** One level of the writes, where they are large. */
  writes_outline?: ValueLevel;
  questions?: { id: string; name: string; node: string; payload: Json; takes?: string; answered?: boolean }[];
  answers?: Answer[];
  input?: ValueLevel | Json;
  journal?: Journal | null;
  events?: { kind: string; [name: string]: Json }[];
  until?: string;
  started_at?: string | null;
  ended_at?: string | null;
  label?: string | null;
  summary?: string | null;
  cost?: number | null;
  tokens?: Tokens | null;
  path?: string[];
  has_inside?: boolean;
}
