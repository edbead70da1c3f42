// What a person starts a run with: the graphs that are there, where an error of the server belongs in a form, what a run may cost as far
// as its input says, and schedules in words. Knows no DOM.

import type { Assistant, Json, JsonObject, Schema } from "../api/types";
import { fields, isObject, isSecret, kindOf, problems, resolve, same, startValue, text, withoutSecrets, type FormProblem } from "./schema";

/** A graph as the server describes it. */
export interface GraphInfo {
  graph: string;
  about: string | null;
  takes_one_input?: boolean;
  answered_by_people?: boolean;
}

export interface StartableGraph extends GraphInfo {
  /** Its assistants, the graph's own first. */
  assistants: Assistant[];
}

/** Puts graphs and assistants together, by the names of the graphs. */
export function startable(graphs: GraphInfo[], assistants: Assistant[]): StartableGraph[] {
  const names = new Set([...graphs.map(({ graph }) => graph), ...assistants.map(({ graph_id }) => graph_id)]);
  return [...names].sort().map((graph) => {
    const own = assistants.filter(({ graph_id }) => graph_id === graph).sort((a, b) => Number(isDefault(b)) - Number(isDefault(a)) || a.name.localeCompare(b.name));
    const info = graphs.find((info) => info.graph === graph);
    return { graph, about: own.find(isDefault)?.description ?? null, ...info, assistants: own };
  });
}

export function isDefault(assistant: Assistant): boolean {
  return assistant.metadata["created_by"] === "system";
}

/** Returns whether a form can be made of a schema. */
export function hasForm(schema: Schema | null): schema is Schema {
  return schema !== null && kindOf(resolve(schema, schema)) === "object" && fields(resolve(schema, schema), schema).length > 0;
}

/** The text that the server shows in the place of a secret value. */
const HIDDEN = "[secret]";

/**
 * Returns the input of an earlier run as the value of a form, without what is secret. Null if there is none, or if the form has no place
 * for it: a program may store an input in another form than the one in which it is typed in.
 */
export function earlierInput(input: Json, schema: Schema | null): JsonObject | null {
  if (!isObject(input)) return null;
  const open = Object.entries(input).filter(([name, value]) => !isSecret({}, name) && !JSON.stringify(value).includes(HIDDEN));
  if (hasForm(schema) && !open.every(([name, value]) => fits(name, value, schema))) return null;
  const shown = hasForm(schema) ? withoutSecrets(Object.fromEntries(open), resolve(schema, schema), schema) : Object.fromEntries(open);
  return isObject(shown) && Object.keys(shown).length > 0 ? shown : null;
}

function fits(name: string, value: Json, schema: Schema): boolean {
  const field = fields(resolve(schema, schema), schema).find((one) => one.name === name);
  if (field === undefined) return false;
  return (value === null && field.isNullable) || problems(value, field.schema, schema, [name]).length === 0;
}

/** Returns the value that the form of an input begins with. */
export function firstValue(schema: Schema | null, earlier: JsonObject | null): Json | undefined {
  const start = schema === null ? undefined : startValue(resolve(schema, schema), schema);
  return earlier === null ? start : { ...(isObject(start) ? start : {}), ...earlier };
}

const PLACE = /(?:^|; )input((?:\.[^\s.:;[\]]+|\[\d+\])*): /g;

/** Reads the problems of `input.items[2].count: 999 is greater than 255; input.name: ...`. None for a text that names no place. */
export function parseProblems(detail: string): FormProblem[] {
  const places = [...detail.matchAll(PLACE)];
  if (places[0]?.index !== 0) return [];
  return places.map((place, at) => {
    const words = detail.slice(place.index + place[0].length, places[at + 1]?.index);
    return { path: parsePath(place[1] ?? ""), text: words };
  });
}

function parsePath(place: string): (string | number)[] {
  return [...place.matchAll(/\.([^.[]+)|\[(\d+)\]/g)].map(([, name, number]) => name ?? Number(number));
}

export function placeName(path: (string | number)[]): string {
  return path.map((part, at) => (typeof part === "number" ? `[${part}]` : at === 0 ? part : `.${part}`)).join("");
}

/** Moves problems to fields that a form has: one inside a field of JSON to that. `rest` is of those that no field has. */
export function placeProblems(problems: FormProblem[], schema: Schema): { placed: FormProblem[]; rest: FormProblem[] } {
  const [placed, rest]: [FormProblem[], FormProblem[]] = [[], []];
  for (const problem of problems) {
    const depth = fieldDepth(problem.path, resolve(schema, schema), schema);
    if (depth === 0) rest.push(problem);
    else if (depth === problem.path.length) placed.push(problem);
    else placed.push({ path: problem.path.slice(0, depth), text: `(at ${placeName(problem.path.slice(depth))}) ${problem.text}` });
  }
  return { placed, rest };
}

/** Returns how many parts of a path lead to a field of the form. */
function fieldDepth(path: (string | number)[], schema: Schema, root: Schema): number {
  let at = schema;
  for (const [depth, part] of path.entries()) {
    const kind = kindOf(at, depth);
    const inner = kind === "object" ? fields(at, root).find(({ name }) => name === part)?.schema : kind === "list" && typeof part === "number" ? resolve(at["items"] as Schema, root) : undefined;
    if (inner === undefined) return depth;
    at = inner;
  }
  return path.length;
}

/** Returns the problems whose fields were not changed since. */
export function stillWrong(problems: FormProblem[], before: Json | undefined, now: Json | undefined): FormProblem[] {
  return problems.filter(({ path }) => same(valueAt(before, path), valueAt(now, path)));
}

function valueAt(value: Json | undefined, path: (string | number)[]): Json | undefined {
  let at = value;
  for (const part of path) at = Array.isArray(at) && typeof part === "number" ? at[part] : isObject(at) ? at[part] : undefined;
  return at;
}

/** One limit that an input can name. */
export interface Limit {
  name: string;
  value: string | null;
  about: string | null;
}

const LIMITS = /budget|max_?(cost|tokens|usd|dollars|calls|turns|time|minutes|seconds)|(cost|tokens?|spend|usd|time)_?limit/i;

/** Returns the fields of an input that limit what a run costs, with what was typed in. */
export function limitsOf(schema: Schema, value: Json | undefined, isInside = false, root = schema, label = ""): Limit[] {
  return fields(resolve(schema, root), root).flatMap((field) => {
    const name = label === "" ? field.name : `${label}.${field.name}`;
    const own = isObject(value) ? value[field.name] : undefined;
    const isLimit = isInside || LIMITS.test(field.name);
    if (kindOf(field.schema) === "object" && label === "") return limitsOf(field.schema, own, isLimit, root, name);
    return isLimit ? [{ name, value: valueText(own ?? field.schema["default"]), about: text(field.schema["description"]) }] : [];
  });
}

/** Returns the names of fields that hold a file with settings, which may have limits too. */
export function profilesOf(schema: Schema): string[] {
  return fields(resolve(schema, schema), schema).map(({ name }) => name).filter((name) => /(^|_)(profile|config|settings)$/.test(name));
}

function valueText(value: Json | undefined): string | null {
  if (value === undefined || value === null) return null;
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** Returns a name for a new thread: `order-3f9a1c0b`. */
export function freshName(graph: string, random: Uint8Array): string {
  return `${graph}-${[...random].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

const DAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const MONTHS = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"];

/** Says a schedule of five fields in words; null for one that is no common form. The server reads it itself. */
export function scheduleText(schedule: string): string | null {
  const parts = schedule.trim().split(/\s+/);
  if (parts.length !== 5) return null;
  const [minute = "", hour = "", day = "", month = "", weekday = ""] = parts;
  const [time, days] = [timeText(minute, hour), daysText(day, month, weekday)];
  if (time === null || days === null) return null;
  return time.startsWith("at") ? `${days} ${time}` : days === "every day" ? time : `${time}, ${days}`;
}

function timeText(minute: string, hour: string): string | null {
  const [step, hours] = [/^\*\/(\d+)$/.exec(minute)?.[1], /^\*\/(\d+)$/.exec(hour)?.[1]];
  if (hour === "*") return minute === "*" ? "every minute" : step !== undefined ? `every ${step} minutes` : isNumber(minute, 59) ? `every hour, ${minute} min past` : null;
  if (!isNumber(minute, 59)) return null;
  if (hours !== undefined) return `every ${hours} hours, ${minute} min past`;
  const all = hour.split(",");
  return all.every((one) => isNumber(one, 23)) ? `at ${all.map((one) => `${one.padStart(2, "0")}:${minute.padStart(2, "0")}`).join(", ")}` : null;
}

function daysText(day: string, month: string, weekday: string): string | null {
  if (month !== "*" && !(isNumber(month, 12) && month !== "0")) return null;
  const within = month === "*" ? "" : ` in ${MONTHS[Number(month) - 1]}`;
  if (day !== "*") return isNumber(day, 31) && weekday === "*" ? `on day ${day} of ${month === "*" ? "each month" : MONTHS[Number(month) - 1]}` : null;
  if (weekday === "*") return `every day${within}`;
  const range = /^([0-7])-([0-7])$/.exec(weekday);
  if (range !== null) return `${dayName(range[1])} to ${dayName(range[2])}${within}`;
  const listed = weekday.split(",");
  return listed.every((one) => isNumber(one, 7)) ? `every ${listed.map(dayName).join(", ")}${within}` : null;
}

function dayName(number = "0"): string {
  return DAYS[Number(number) % 7] ?? "";
}

function isNumber(part: string, most: number): boolean {
  return /^\d{1,2}$/.test(part) && Number(part) <= most;
}
