// One task in words, and what its thread sends of it while it runs. Knows no request and no DOM.

import type { Failure, RunStatus, TaskDetail, ValueLevel } from "../api/run_types";
import type { Json } from "../api/types";
import { addToTurn, costOf, startTurn, tokensOf, tokensText, type Turn } from "./journal";
import { isObject, text } from "./schema";
import { durationText } from "./time";

export interface StatusWords {
  text: string;
  mark: "good" | "warn" | "bad" | "accent" | undefined;
}

const TASKS: Record<TaskDetail["status"], StatusWords> = {
  done: { text: "ran", mark: "good" },
  interrupted: { text: "waits for an answer", mark: "warn" },
  failed: { text: "failed", mark: "bad" },
  waiting: { text: "waits for a time", mark: "warn" },
  "awaiting-signal": { text: "waits for a signal", mark: "warn" },
  pending: { text: "not started", mark: undefined },
};

export function taskWords({ status }: Pick<TaskDetail, "status">, isRunning: boolean): StatusWords {
  return status === "pending" && isRunning ? { text: "running", mark: "accent" } : TASKS[status];
}

const RUNS: Record<string, StatusWords> = {
  finished: { text: "finished", mark: "good" },
  running: { text: "running", mark: "accent" },
  interrupted: { text: "waits for an answer", mark: "warn" },
  waiting: { text: "waits for a time", mark: "warn" },
  "awaiting-signal": { text: "waits for a signal", mark: "warn" },
  stopped: { text: "stopped at a breakpoint", mark: "warn" },
  pending: { text: "pending", mark: undefined },
  new: { text: "not started", mark: undefined },
  failed: { text: "failed", mark: "bad" },
  damaged: { text: "damaged", mark: "bad" },
  "needs-migration": { text: "needs a migration", mark: "warn" },
};

export function runWords(status: string): StatusWords {
  return RUNS[status] ?? { text: status.replaceAll("-", " "), mark: undefined };
}

/** Returns the graph of a thread; one that has not run may name it in its metadata alone. */
export function graphOf({ graph, metadata }: Pick<RunStatus, "graph" | "metadata">): string | undefined {
  return graph ?? text(metadata?.["graph_id"]) ?? undefined;
}

/** The buttons of a run: those that its status allows. */
export function runActions({ status }: Pick<RunStatus, "status">): ("Cancel" | "Resume" | "Retry")[] {
  if (status === "running") return ["Cancel"];
  if (status === "failed") return ["Retry"];
  return status === "pending" || status === "stopped" ? ["Resume"] : [];
}

export interface Fact {
  name: string;
  value: string;
}

/** What is to be said of a task beside its name: times, attempts, tokens and cost. */
export function taskFacts(task: TaskDetail): Fact[] {
  const facts: Fact[] = [];
  const { started_at: from, ended_at: to } = task;
  if (from != null && to != null) facts.push({ name: "Took", value: durationText(Date.parse(to) - Date.parse(from)) });
  if (task.attempts > 1) facts.push({ name: "Attempts", value: String(task.attempts) });
  const tokens = tokensOf(task.tokens);
  if (tokens !== null && tokens > 0) facts.push({ name: "Tokens", value: tokensText(tokens) });
  const cost = costOf(task.cost);
  if (cost !== null) facts.push({ name: "Cost", value: cost });
  if (task.path !== undefined && task.path.length > 1) facts.push({ name: "In", value: task.path.slice(0, -1).join(" / ") });
  return facts;
}

export interface Attempt {
  number: number;
  at: string | null;
  error: string | null;
}

/** Returns all attempts of a task: those that failed, and the one that did not. */
export function attemptsOf({ attempts, failures = [], status, error, ended_at = null }: TaskDetail): Attempt[] {
  const failed = failures.map((failure: Failure, at): Attempt => ({ number: failure.attempt ?? at + 1, at: failure.at, error: failure.error }));
  if (status === "failed" && failed.length === 0 && error !== null) failed.push({ number: Math.max(attempts, 1), at: ended_at, error });
  const last = failed.at(-1)?.number ?? 0;
  return status === "done" && failed.length > 0 ? [...failed, { number: Math.max(attempts, last + 1), at: ended_at, error: null }] : failed;
}

/** Returns the first level of what a task has read, however the server has sent it. */
export function inputLevel(input: TaskDetail["input"]): ValueLevel | null {
  if (input === undefined || input === null) return null;
  if (isLevel(input)) return input;
  const value = input as Json;
  const entries = isObject(value) ? Object.entries(value).map(([key, inner]) => outline(key, inner)) : [];
  const size = JSON.stringify(value).length;
  return isObject(value) ? { path: "", type: "object", size, count: entries.length, entries } : { path: "", type: "string", size, value };
}

function isLevel(input: ValueLevel | Json): input is ValueLevel {
  return typeof input === "object" && input !== null && !Array.isArray(input) && typeof input["type"] === "string" && typeof input["size"] === "number" && ("entries" in input || "value" in input);
}

function outline(key: string, value: Json): NonNullable<ValueLevel["entries"]>[number] {
  const type = value === null ? "null" : Array.isArray(value) ? "array" : (typeof value as "object" | "string" | "number" | "boolean");
  const count = Array.isArray(value) ? value.length : isObject(value) ? Object.keys(value).length : null;
  const preview = typeof value === "string" ? value.slice(0, 120) : isObject(value) ? Object.keys(value).slice(0, 8).join(", ") : Array.isArray(value) ? "" : JSON.stringify(value);
  return { key, type, count: typeof value === "string" ? value.length : count, size: JSON.stringify(value).length, preview };
}

/** What a thread sends while a task runs. */
export interface Live {
  messages: { id: string; node: string | null; text: string; isOver: boolean }[];
  turns: Turn[];
  values: { at: number; value: Json }[];
}

export const NOTHING: Live = { messages: [], turns: [], values: [] };
/** Values, messages and steps of a turn beyond the last ones of this number are not shown. */
const [VALUES, MESSAGES, STEPS] = [200, 50, 1000];

/** An event of the protocol, as far as it is read here. */
export interface ProtocolEvent {
  method: string;
  params: { namespace: string[]; node?: string; timestamp: number; data: Json };
}

/** Adds an event. What did not change is the same object as before. */
export function addLive(live: Live, { method, params: { node, timestamp, data } }: ProtocolEvent): Live {
  if (!isObject(data)) return live;
  if (method === "messages") return { ...live, messages: addMessage(live.messages, data, node ?? null) };
  if (method !== "custom") return live;
  const value = data["payload"] ?? null;
  if (!isAgentEvent(value, live.turns.length > 0)) return { ...live, values: [...live.values, { at: timestamp, value }].slice(-VALUES) };
  return { ...live, turns: addTurn(live.turns, new Date(timestamp).toISOString(), value) };
}

function addMessage(messages: Live["messages"], data: { [name: string]: Json }, node: string | null): Live["messages"] {
  const id = String(data["message_id"] ?? data["id"] ?? "");
  const known = messages.find((message) => message.id === id);
  const delta = data["delta"];
  const text = isObject(delta) && typeof delta["text"] === "string" ? delta["text"] : "";
  const isOver = data["event"] === "message-finish";
  if (known === undefined) return [...messages, { id, node, text, isOver }].slice(-MESSAGES);
  return text === "" && !isOver ? messages : messages.map((message) => (message === known ? { ...message, text: message.text + text, isOver } : message));
}

const EVENTS = ["text", "thinking", "tool_call", "tool_result", "finished", "notice", "usage", "started"];

function isAgentEvent(value: Json, isInTurn: boolean): value is { [name: string]: Json } {
  if (!isObject(value)) return false;
  return isObject(value["turn"]) || (isInTurn && Object.keys(value).length === 1 && EVENTS.includes(Object.keys(value)[0] ?? ""));
}

function addTurn(turns: Turn[], at: string, event: { [name: string]: Json }): Turn[] {
  if (isObject(event["turn"])) return [...turns, startTurn(event["turn"])];
  const last = turns.at(-1);
  if (last === undefined) return turns;
  const grown = { ...last, steps: last.steps.slice(-STEPS) };
  addToTurn(grown, at, event);
  return [...turns.slice(0, -1), grown];
}
