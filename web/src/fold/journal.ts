// What a task did, in the order in which it did it: effects, turns of agents, recorded values, messages, questions. Knows no DOM.

import type { EffectRun, Journal, JournalEntry, JournalMessage, JournalQuestion, Tokens } from "../api/run_types";
import type { Json } from "../api/types";
import { isObject, text } from "./schema";

export type JournalItem =
  | { kind: "effect"; at: string; effect: EffectItem }
  | { kind: "turn"; at: string; effect: EffectItem; turn: Turn }
  | { kind: "value"; at: string; what: string; key: string; value: Json }
  | { kind: "message"; at: string; value: Json; from: string | null }
  | { kind: "question"; at: string; question: JournalQuestion };

export interface EffectItem {
  key: string;
  /** The subgraphs and the effects that it was made in, for people. */
  place: string | null;
  arguments: Json;
  result: Json | undefined;
  error: string | null;
  idempotencyKey: string;
  startedAt: string;
  endedAt: string | null;
  runs: EffectRun[];
}

/** A turn of an agent. */
export interface Turn {
  role: string;
  driver: string;
  model: string | null;
  /** `Add the route (2 of 5), attempt 2`. */
  about: string | null;
  directory: string | null;
  system: string | null;
  prompt: string;
  steps: TurnStep[];
  /** Null if it has not ended. */
  status: string | null;
  text: string | null;
  submitted: Json | null;
  usage: Usage | null;
}

export type TurnStep =
  | { kind: "text"; at: string; text: string; isThinking: boolean }
  | { kind: "call"; at: string; id: string; name: string; arguments: Json; result: { isOk: boolean; text: string } | null }
  | { kind: "notice"; at: string; text: string };

export interface Usage {
  tokens: number;
  input: number;
  output: number;
  cached: number;
  cost: number;
  requests: number;
  isEstimated: boolean;
}

/** Returns all of a journal, oldest first. */
export function readJournal({ entries, messages, questions }: Journal): JournalItem[] {
  const items: JournalItem[] = entries.flatMap(readEntry);
  items.push(...messages.map(({ at, value, path }): JournalItem => ({ kind: "message", at, value, from: path === undefined || path.length === 0 ? null : path.join("/") })));
  const last = items.reduce((latest, { at }) => (at > latest ? at : latest), "");
  items.push(...questions.map((question): JournalItem => ({ kind: "question", at: question.answer?.at ?? last, question })));
  return items.map((item, at) => ({ item, at })).sort((a, b) => (a.item.at < b.item.at ? -1 : a.item.at > b.item.at ? 1 : a.at - b.at)).map(({ item }) => item);
}

function readEntry(entry: JournalEntry): JournalItem[] {
  if (entry.kind !== "effect") return [{ kind: "value", at: entry.at, what: entry.kind, key: entry.key, value: entry.value ?? entry.until ?? null }];
  const effect = readEffect(entry);
  const turns = readTurns(entry.messages ?? []);
  if (turns.length > 0) return turns.map(({ at, turn }) => ({ kind: "turn", at, effect, turn }));
  const told = (entry.messages ?? []).map(({ at, value }): JournalItem => ({ kind: "message", at, value, from: entry.key }));
  return [{ kind: "effect", at: entry.started_at ?? entry.at, effect }, ...told];
}

function readEffect(entry: JournalEntry): EffectItem {
  const place = [...(entry.path ?? []), ...(entry.within ?? [])];
  return {
    key: entry.key,
    place: place.length === 0 ? null : `in ${place.join("/")}`,
    arguments: entry.arguments ?? null,
    result: entry.result,
    error: entry.error ?? null,
    idempotencyKey: entry.idempotency_key ?? "",
    startedAt: entry.started_at ?? entry.at,
    endedAt: entry.ended_at ?? null,
    runs: entry.runs ?? [],
  };
}

/** Returns the turns in the messages of an effect: more than one if it was repeated. */
export function readTurns(messages: JournalMessage[]): { at: string; turn: Turn }[] {
  const turns: { at: string; turn: Turn }[] = [];
  for (const { at, value } of messages) {
    if (!isObject(value)) continue;
    if (isObject(value["turn"])) turns.push({ at, turn: startTurn(value["turn"]) });
    const turn = turns.at(-1)?.turn;
    if (turn !== undefined) addToTurn(turn, at, value);
  }
  return turns;
}

/** Starts a turn from the message that does. */
export function startTurn(request: { [name: string]: Json }): Turn {
  const [title, position, total, attempt] = [text(request["title"]) ?? text(request["task"]), request["position"], request["total"], Number(request["attempt"] ?? 0)];
  const of = typeof position === "number" && typeof total === "number" ? ` (${position} of ${total})` : "";
  const about = title === null || title === "" ? null : `${title}${of}${attempt > 1 ? `, attempt ${attempt}` : ""}`;
  return {
    role: text(request["role"]) ?? "agent",
    driver: text(request["driver"]) ?? "",
    model: text(request["model"]),
    about,
    directory: text(request["directory"]),
    system: text(request["system"]),
    prompt: text(request["prompt"]) ?? "",
    steps: [],
    status: null,
    text: null,
    submitted: null,
    usage: null,
  };
}

/** Adds an event of an agent to its turn. Pieces of a text become one. A step that grows is replaced: one that is shown stays as it is. */
export function addToTurn(turn: Turn, at: string, event: { [name: string]: Json }): void {
  const { tool_call: call, tool_result: result, finished, text: said, thinking, notice } = event;
  const end = turn.steps.length - 1;
  const last = turn.steps[end];
  for (const [piece, isThinking] of [[said, false], [thinking, true]] as const) {
    if (typeof piece !== "string") continue;
    if (last?.kind === "text" && last.isThinking === isThinking) turn.steps[end] = { ...last, text: last.text + piece };
    else turn.steps.push({ kind: "text", at, text: piece, isThinking });
  }
  if (typeof notice === "string") turn.steps.push({ kind: "notice", at, text: notice });
  if (isObject(call)) turn.steps.push({ kind: "call", at, id: text(call["id"]) ?? "", name: text(call["name"]) ?? "tool", arguments: call["arguments"] ?? null, result: null });
  if (isObject(result)) {
    const nth = turn.steps.findLastIndex((step) => step.kind === "call" && step.id === result["id"]);
    const open = turn.steps[nth];
    if (open?.kind === "call") turn.steps[nth] = { ...open, result: { isOk: result["ok"] !== false, text: text(result["text"]) ?? "" } };
  }
  if (isObject(finished)) finish(turn, finished);
}

function finish(turn: Turn, finished: { [name: string]: Json }): void {
  turn.status = text(finished["status"]) ?? "done";
  turn.text = text(finished["text"]);
  turn.submitted = finished["submitted"] ?? null;
  turn.usage = isObject(finished["usage"]) ? readUsage(finished["usage"]) : null;
}

function readUsage(usage: { [name: string]: Json }): Usage {
  const number = (name: string): number => (typeof usage[name] === "number" ? usage[name] : 0);
  const cached = number("cache_read") + number("cache_write");
  const [input, output] = [number("input"), number("output")];
  return { tokens: input + output + cached, input, output, cached, cost: number("cost"), requests: number("requests"), isEstimated: usage["estimated"] === true };
}

export function tokensOf(tokens: Tokens | null | undefined): number | null {
  if (tokens == null) return null;
  if (typeof tokens === "number") return tokens;
  const { input = 0, output = 0, cache_read = 0, cache_write = 0 } = tokens;
  return input + output + cache_read + cache_write;
}

/** `812`, `12.4 k`, `1.2 M`. */
export function tokensText(tokens: number): string {
  if (tokens < 1000) return String(tokens);
  return tokens < 1_000_000 ? `${(tokens / 1000).toFixed(1)} k` : `${(tokens / 1_000_000).toFixed(1)} M`;
}

/** Returns a cost in millionths of a dollar as text; null where none is known, or nothing was spent. */
export function costOf(cost: number | null | undefined): string | null {
  return cost != null && cost > 0 ? dollarsText(cost) : null;
}

/** `2.4 k tokens, $0.0070`; without the cost where there is none. */
export function usedText({ tokens, cost }: { tokens: number; cost: number }): string {
  const dollars = costOf(cost);
  return dollars === null ? `${tokensText(tokens)} tokens` : `${tokensText(tokens)} tokens, ${dollars}`;
}

/** `$0.0160` of millionths of a dollar, as the command line prints it. */
export function dollarsText(millionths: number): string {
  return `$${(Math.floor(millionths / 100) / 10_000).toFixed(4)}`;
}
