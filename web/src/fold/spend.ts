// What runs have cost, and how busy the server is, as tables. Costs are in millionths of a dollar. Knows no DOM.

import type { Json, JsonObject } from "../api/types";
import { isObject, text } from "./schema";

/** What was spent on something. */
export interface Spent {
  cost: number;
  tokens: number;
  /** The tokens whose price is not known. */
  unpriced: number;
}

export interface SpentOn extends Spent {
  /** A graph, a task, a role or a day. */
  name: string;
  /** The thread of a task. */
  thread: string | null;
}

export interface Spending {
  total: Spent;
  graphs: SpentOn[];
  tasks: SpentOn[];
  roles: SpentOn[];
  /** The newest day first. */
  days: SpentOn[];
}

export interface Worker {
  name: string;
  host: string;
  pid: number | null;
  lastSeen: string | null;
  threads: number;
  version: string;
  graphs: string[];
}

export interface Health {
  pending: number;
  running: number;
  /** The time since which the first run of the queue waits. */
  oldestRun: string | null;
  workers: Worker[];
  questions: number;
  oldestQuestion: string | null;
}

/** Reads the answer of `GET /spend`. Parts that it does not have are empty. */
export function readSpending(answer: Json): Spending {
  const parts = isObject(answer) ? answer : {};
  const byCost = (name: string, field: string): SpentOn[] => readParts(parts[name], field).sort((a, b) => b.cost - a.cost || b.tokens - a.tokens);
  return {
    total: readSpent(parts["total"]),
    graphs: byCost("by_graph", "graph"),
    tasks: byCost("by_task", "task"),
    roles: byCost("by_role", "role"),
    days: readParts(parts["by_day"], "day").sort((a, b) => b.name.localeCompare(a.name)),
  };
}

export function isNothing({ total }: Spending): boolean {
  return total.cost === 0 && total.tokens === 0 && total.unpriced === 0;
}

function readParts(parts: Json | undefined, field: string): SpentOn[] {
  if (isObject(parts)) return Object.entries(parts).map(([name, part]) => ({ name, thread: null, ...readSpent(part) }));
  if (!Array.isArray(parts)) return [];
  return parts.filter(isObject).map((part) => ({ name: text(part[field]) ?? text(part["name"]) ?? "", thread: text(part["thread"]), ...readSpent(part) }));
}

function readSpent(part: Json | undefined): Spent {
  const own = isObject(part) ? part : {};
  return { cost: count(own["cost"]), tokens: tokens(own["tokens"]), unpriced: count(own["unpriced"]) };
}

/** Tokens are a number, or numbers by their kind. */
function tokens(value: Json | undefined): number {
  return isObject(value) ? Object.values(value).reduce<number>((sum, one) => sum + count(one), 0) : count(value);
}

function count(value: Json | undefined): number {
  return typeof value === "number" && Number.isFinite(value) ? value : 0;
}

/** Returns the length of each bar, 0 to 100: by cost, or by tokens where nothing has a price. */
export function shares(parts: SpentOn[]): number[] {
  const isPriced = parts.some(({ cost }) => cost > 0);
  const sizes = parts.map(({ cost, tokens }) => (isPriced ? cost : tokens));
  const most = Math.max(...sizes, 0);
  return sizes.map((size) => (most === 0 ? 0 : (size / most) * 100));
}

/** `950`, `12.3 k`, `4.56 M`. */
export function tokensText(tokens: number): string {
  if (tokens < 10_000) return tokens.toLocaleString("en");
  return tokens < 1_000_000 ? `${(tokens / 1000).toFixed(1)} k` : `${(tokens / 1_000_000).toFixed(2)} M`;
}

/** Reads the answer of `GET /health`. */
export function readHealth(answer: Json): Health {
  const parts = isObject(answer) ? answer : {};
  const [queue, questions] = [objectOf(parts["queue"]), objectOf(parts["questions"])];
  const workers = Array.isArray(parts["workers"]) ? parts["workers"].filter(isObject) : [];
  return {
    pending: count(queue["pending"]),
    running: count(queue["running"]),
    oldestRun: text(queue["oldest_at"]),
    workers: workers.map(readWorker),
    questions: count(questions["open"]),
    oldestQuestion: text(questions["oldest_at"]),
  };
}

function readWorker(part: JsonObject): Worker {
  const graphs = Array.isArray(part["graphs"]) ? part["graphs"].flatMap((graph) => text(graph) ?? []) : [];
  return {
    name: text(part["name"]) ?? "",
    host: text(part["host"]) ?? "",
    pid: typeof part["pid"] === "number" ? part["pid"] : null,
    lastSeen: text(part["last_seen"]),
    threads: count(part["threads"]),
    version: text(part["version"]) ?? "",
    graphs,
  };
}

function objectOf(value: Json | undefined): JsonObject {
  return isObject(value) ? value : {};
}
