// What a question shows beside itself: its payload as parts, each with the view that its schema asks for. A program marks a field with the
// `format` plan, diff, markdown or findings; the questions of the agent workflows are known by what is in them. Knows no DOM.

import type { Ask, Json, JsonObject, Schema } from "../api/types";
import { looksLikeDiff } from "./diff";
import { looksLikeFindings } from "./findings";
import { splitMarked } from "./marked";
import { isPlanQuestion, planOf, planOfQuestion, type Plan } from "./plan";
import { fields, isObject, labelOf, resolve, text } from "./schema";

interface Named {
  name: string;
  label: string;
}

export type Evidence = Named &
  (
    | { kind: "plan"; plan: Plan; isFolded: boolean }
    | { kind: "lead" | "diff" | "markdown" | "text" | "fact"; text: string }
    | { kind: "findings"; list: Json[] }
    | { kind: "list" | "commands"; list: string[] }
    | { kind: "sizes"; files: FileSize[] }
    | { kind: "table"; columns: string[]; rows: string[][] }
    | { kind: "facts"; facts: { label: string; text: string }[] }
    | { kind: "json"; value: Json }
  );

/** The size of the changes of a file, as a question counts them: `+3 -1 src/tides.rs (new)`. */
export interface FileSize {
  name: string;
  added: number;
  removed: number;
  about: string | null;
}

/** A text longer than this has a place of its own. */
const SHORT = 160;
/** A table or an object with more is shown as JSON. */
const COLUMNS = 8;
const SIZE = /^\+(\d+) -(\d+) (.+?)(?: \((new|deleted|binary|[^)]*)\))?$/;
/** Questions of the agent workflows, whose costs are in millionths of a dollar. */
const WORKFLOWS = ["approval", "halted", "gave_up", "decide", "budget"];
/** Fields that say what is asked, which comes first. */
const LEADS = ["question", "prompt"];
/** Facts of the questions of the agent workflows, in the order in which people read them; others follow. */
const ORDER = ["task", "phase", "subtask", "role", "reason", "spent", "decision", "rule", "attempt", "attempts", "cost", "tokens"];
const SHOWN_BY_GIT = /^\s+(git -C .+ show .+)$/;
const OF_PLAN = ["title", "goal", "tasks", "phases", "warnings", "problems"];

/** Returns the parts of a question, the short ones first. Empty fields are left out. */
export function evidenceOf(ask: Ask): Evidence[] {
  const { value, draft } = ask;
  const isPlan = isPlanQuestion(value);
  const schema = ask.payload_schema === null ? {} : resolve(ask.payload_schema, ask.payload_schema);
  const known = new Map(ask.payload_schema === null ? [] : fields(schema, ask.payload_schema).map((field) => [field.name, field.schema]));
  const all: [string, Json][] = isObject(value) ? Object.entries(value) : [["value", value]];
  const isOwn = WORKFLOWS.includes(ask.superstep.name) && isOfWorkflow(value);
  const entries = all.filter(([name, inner]) => !isEmpty(inner) && !(isPlan && OF_PLAN.includes(name)) && !(isOwn && isSaid(name, inner, value)));
  const shown = entries.filter(([name]) => !(name === "title" && hasTask(value)));
  const made = shown.flatMap(([name, inner]) => partsOf(name, inner, known.get(name) ?? (isObject(value) ? {} : schema), ask));
  if (isPlan) made.push({ name: "plan", label: "Plan", kind: "plan", plan: planOfQuestion(value, draft), isFolded: false });
  else if (draft !== null && !made.some(({ kind }) => kind === "plan") && looksLikePlan(draft)) made.push({ name: "plan", label: "Plan", kind: "plan", plan: planOf(draft), isFolded: true });
  const place = (name: string): number => (isOwn && ORDER.includes(name) ? ORDER.indexOf(name) / ORDER.length : 1);
  const rank = ({ name, kind }: Evidence): number => (LEADS.includes(name) ? 0 : kind === "fact" ? 1 + place(name) : 3);
  return made.map((one, at) => ({ one, at })).sort((a, b) => rank(a.one) - rank(b.one) || a.at - b.at).map(({ one }) => one);
}

/** Returns whether a field of a workflow's question says what another says better, or nothing. */
function isSaid(name: string, inner: Json, whole: Json): boolean {
  const { task, phase, spent } = whole as JsonObject;
  if (name === "title") return inner === `phase ${String(phase)}`;
  if (name === "subtask") return inner === task;
  if (name === "reached") return spent !== undefined;
  return name === "may_split" || (inner === 0 && ["unpriced", "seconds", "tokens", "cost"].includes(name));
}

/** Returns a field as a part, and the parts in it that have a view of their own. */
function partsOf(name: string, value: Json, schema: Schema, ask: Ask): Evidence[] {
  const label = text(schema["title"]) ?? labelOf(name);
  const { marked, rest } = splitMarked({ name, label, value, schema }, ask.payload_schema ?? {});
  const inner = marked.map((one) => ({ ...part(one.name, one.value, one.schema, ask), label: one.label }));
  return marked.length > 0 && isEmpty(rest) ? inner : [part(name, rest, schema, ask), ...inner];
}

function part(name: string, value: Json, schema: Schema, ask: Ask): Evidence {
  const named: Named = { name, label: text(schema["title"]) ?? labelOf(name) };
  const shown = name === "salvage" && WORKFLOWS.includes(ask.superstep.name) ? shownByGit(value, ask.text) : [];
  if (shown.length > 0) return { ...named, label: "Its work is kept in git", kind: "commands", list: shown };
  if (typeof value === "string") return ofText(named, value, text(schema["format"]), ask.value);
  if (Array.isArray(value)) return ofList(named, value, text(schema["format"]), ask);
  if (isObject(value)) return ofObject(named, value);
  return { ...named, kind: "fact", text: factText(name, value, ask) };
}

/** Returns the commands that show the work under references, as the question has them in words. */
function shownByGit(references: Json, words: string | null): string[] {
  const all = typeof references === "string" ? [references] : Array.isArray(references) ? references : [];
  const commands = (words ?? "").split("\n").flatMap((line) => SHOWN_BY_GIT.exec(line)?.[1] ?? []);
  return all.every((reference) => commands.some((command) => command.includes(String(reference)))) ? commands : [];
}

function ofText(named: Named, value: string, format: string | null, whole: Json): Evidence {
  if (format === "plan") return { ...named, kind: "plan", plan: planOf(value), isFolded: false };
  if (format === "diff" || format === "markdown") return { ...named, kind: format, text: value };
  if (looksLikeDiff(value)) return { ...named, kind: "diff", text: value };
  const sizes = sizesOf(value);
  if (sizes !== null) return { ...named, kind: "sizes", files: sizes };
  if (named.name === "task" && hasTask(whole)) return { ...named, kind: "fact", text: `${value}: ${String((whole as JsonObject)["title"])}` };
  return { ...named, kind: !isShort(value) ? "text" : LEADS.includes(named.name) ? "lead" : "fact", text: value };
}

function ofList(named: Named, list: Json[], format: string | null, { superstep }: Ask): Evidence {
  const isText = list.every((item) => typeof item === "string");
  if (format === "findings" || looksLikeFindings(list)) return { ...named, kind: "findings", list };
  if (!isText) return tableOf(named, list) ?? { ...named, kind: "json", value: list };
  const joined = list.join(", ");
  const isCommands = superstep.name === "plan_changed" && named.name === "verify";
  return isCommands ? { ...named, kind: "commands", label: "Commands that run if it is adopted", list } : list.length <= 4 && joined.length <= SHORT / 2 ? { ...named, kind: "fact", text: joined } : { ...named, kind: "list", list };
}

/** An object of short values is shown as facts of its own. */
function ofObject(named: Named, value: JsonObject): Evidence {
  const entries = Object.entries(value);
  if (entries.length > COLUMNS || !entries.every(([, inner]) => isShort(inner))) return { ...named, kind: "json", value };
  return { ...named, kind: "facts", facts: entries.map(([name, inner]) => ({ label: labelOf(name), text: cellText(inner) })) };
}

/** A list of objects of short values is shown as a table. */
function tableOf(named: Named, list: Json[]): Evidence | null {
  if (!list.every((item) => isObject(item) && Object.values(item).every(isShort))) return null;
  const names = [...new Set(list.flatMap((item) => Object.keys(item as JsonObject)))];
  if (names.length === 0 || names.length > COLUMNS) return null;
  return { ...named, kind: "table", columns: names.map(labelOf), rows: list.map((item) => names.map((name) => cellText((item as JsonObject)[name] ?? null))) };
}

function isShort(value: Json): boolean {
  return typeof value === "string" ? value.length <= SHORT && !value.includes("\n") : typeof value !== "object" || value === null;
}

function cellText(value: Json): string {
  return value === null ? "" : typeof value === "boolean" ? (value ? "yes" : "no") : String(value);
}

function factText(name: string, value: Json, { superstep, value: whole }: Ask): string {
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value !== "number") return String(value);
  if (name === "cost" && WORKFLOWS.includes(superstep.name) && isOfWorkflow(whole)) return `$${(value / 1e6).toFixed(4)}`;
  return String(value);
}

function isOfWorkflow(value: Json): boolean {
  return isObject(value) && ("salvage" in value || "spent" in value || "tasks" in value);
}

/** Returns whether a payload names a task by number and title. */
function hasTask(value: Json): boolean {
  return isObject(value) && typeof value["task"] === "string" && value["task"] !== "" && typeof value["title"] === "string" && value["title"] !== "" && value["title"].length <= SHORT;
}

function sizesOf(words: string): FileSize[] | null {
  const lines = words.split("\n").filter((line) => line !== "");
  const sizes = lines.map((line) => SIZE.exec(line));
  if (lines.length === 0 || sizes.includes(null)) return null;
  return sizes.flatMap((match) => (match === null ? [] : [{ added: Number(match[1]), removed: Number(match[2]), name: match[3] ?? "", about: match[4] ?? null }]));
}

function looksLikePlan(draft: string): boolean {
  return planOf(draft).tasks.length > 0;
}

function isEmpty(value: Json): boolean {
  return value === null || value === "" || (Array.isArray(value) && value.length === 0) || (isObject(value) && Object.keys(value).length === 0);
}
