// The ways to answer a question as buttons: from the schema of its answer and from the words of the command line. Knows no DOM.

import type { Ask, Json, Schema } from "../api/types";
import { choices, isObject, labelOf, resolve, same, text, typeOf, variantsOf } from "./schema";

/** The place in an answer that the feedback of a person takes. */
export const FEEDBACK = "{feedback}";

export interface Action {
  /** The name of its button. */
  name: string;
  about: string | null;
  /** Makes the answer of what was typed in. */
  answer: (value: Json) => Json;
  /** The schema of what is typed in; null if nothing is. */
  form: Schema | null;
  /** Set for a text that replaces the plan: it is edited where the plan is shown. */
  isDraft: boolean;
  /** Asked once more. */
  isFinal: boolean;
}

/** Names that a button has as they are; the first of a question's is its main action. */
const NAMES = ["Approve", "Retry", "Raise", "Revise", "Skip", "Reject", "Abort"];
const FINAL = ["Reject", "Abort"];
const DRAFTS = ["plan"];

/** Returns the actions of a question, the main one first. */
export function actionsOf(ask: Ask): Action[] {
  const named = ask.response_schema === null ? [] : ofSchema(ask.response_schema, ask.response_schema, ask.replies);
  const all = named.some(({ name }) => NAMES.includes(name)) ? named : [];
  const replied = ofReplies(ask.replies).filter(({ name }) => !all.some((action) => action.name === name));
  const actions = all.length === 0 ? replied : all;
  if (actions.length === 0) return [plain(ask)];
  return actions.map((action, at) => ({ action, rank: rank(action, ask), at })).sort((a, b) => a.rank - b.rank || a.at - b.at).map(({ action }) => action);
}

function plain({ response_schema }: Ask): Action {
  return { name: "Answer", about: null, answer: (value) => value, form: response_schema ?? {}, isDraft: false, isFinal: false };
}

function rank(action: Action, { replies }: Ask): number {
  if (action.isDraft) return NAMES.length + 2;
  if (replies.approve !== undefined && action.form === null && same(action.answer(null), replies.approve)) return -1;
  const at = NAMES.indexOf(action.name);
  return at < 0 ? NAMES.length + 1 : at;
}

function ofSchema(schema: Schema, root: Schema, replies: Ask["replies"]): Action[] {
  const whole = resolve(schema, root);
  if (typeOf(whole) === "boolean") return [fixed("Approve", true, null), fixed("Reject", false, null)];
  const listed = choices(whole);
  if (listed !== null) return listed.flatMap(({ value, about }) => (typeof value === "string" ? [fixed(nameOf(value, value, replies), value, about)] : []));
  const parts = variantsOf(whole).map((part) => ofVariant(resolve(part, root), root, replies));
  return parts.includes(null) ? [] : parts.flatMap((actions) => actions ?? []);
}

/** Returns the actions of one variant: a constant, `{"retry": ..}` or `{"decision": "retry", ..}`; null for one without a name. */
function ofVariant(part: Schema, root: Schema, replies: Ask["replies"]): Action[] | null {
  const about = text(part["description"]);
  const listed = choices(part);
  if (listed !== null) return listed.flatMap(({ value, about: own }) => (typeof value === "string" ? [fixed(nameOf(value, value, replies), value, own ?? about)] : []));
  const properties = part["properties"];
  if (!isObject(properties)) return null;
  const names = Object.keys(properties);
  const tag = names.find((name) => isObject(properties[name]) && typeof properties[name]["const"] === "string");
  if (tag !== undefined) return [tagged(part, properties, tag, replies)];
  const [name] = names;
  if (names.length !== 1 || name === undefined) return null;
  const inner = resolve(isObject(properties[name]) ? properties[name] : {}, root);
  return [wrapped(name, inner, root, about, replies)];
}

function wrapped(name: string, inner: Schema, root: Schema, about: string | null, replies: Ask["replies"]): Action {
  const isEmpty = typeOf(inner) === "object" && isObject(inner["properties"]) && Object.keys(inner["properties"]).length === 0;
  const form = isEmpty ? null : withRoot(inner, root);
  const answer = (value: Json): Json => ({ [name]: isEmpty ? {} : value });
  return action(nameOf(name, null, replies), form, answer, about ?? text(inner["description"]));
}

function tagged(part: Schema, properties: { [name: string]: Json }, tag: string, replies: Ask["replies"]): Action {
  const value = (properties[tag] as Schema)["const"] as string;
  const { [tag]: _, ...others } = properties;
  const required = Array.isArray(part["required"]) ? part["required"].filter((name) => name !== tag) : [];
  const form = Object.keys(others).length === 0 ? null : { ...part, properties: others, required };
  const answer = (typed: Json): Json => ({ ...(isObject(typed) ? typed : {}), [tag]: value });
  return action(nameOf(value, form === null ? answer(null) : null, replies), form, answer, text(part["description"]));
}

function ofReplies({ approve, reject, revise }: Ask["replies"]): Action[] {
  const actions: Action[] = [];
  if (approve !== undefined) actions.push(fixed("Approve", approve, null));
  if (revise !== undefined) {
    const form: Schema = { type: "object", properties: { feedback: { type: "string", minLength: 1, format: "text", title: "What to change" } }, required: ["feedback"] };
    actions.push(action("Revise", form, (typed) => fill(revise, isObject(typed) ? (text(typed["feedback"]) ?? "") : ""), null));
  }
  if (reject !== undefined) actions.push(fixed("Reject", reject, null));
  return actions;
}

/** Puts feedback into an answer where the server has left a place for it. */
export function fill(answer: Json, feedback: string): Json {
  if (typeof answer === "string") return answer === FEEDBACK ? feedback : answer;
  if (Array.isArray(answer)) return answer.map((value) => fill(value, feedback));
  if (!isObject(answer)) return answer;
  return Object.fromEntries(Object.entries(answer).map(([name, value]) => [name, fill(value, feedback)]));
}

function fixed(name: string, value: Json, about: string | null): Action {
  return action(name, null, () => value, about);
}

function action(name: string, form: Schema | null, answer: (value: Json) => Json, about: string | null): Action {
  return { name, about, answer, form, isDraft: form !== null && holdsDraft(form), isFinal: FINAL.includes(name) };
}

/** The answer's own name where the page knows it, else the word of the command line that stands for it, else the answer's own name. */
function nameOf(name: string, value: Json, replies: Ask["replies"]): string {
  const own = labelOf(name);
  if (NAMES.includes(own) || value === null) return own;
  if (same(value, replies.approve)) return "Approve";
  return same(value, replies.reject) ? "Reject" : own;
}

function holdsDraft(form: Schema): boolean {
  const properties = form["properties"];
  const parts = isObject(properties) ? Object.values(properties) : [form];
  return parts.some((part) => isObject(part) && DRAFTS.includes(text(part["format"]) ?? ""));
}

function withRoot(schema: Schema, root: Schema): Schema {
  const definitions = root["$defs"];
  return definitions === undefined ? schema : { ...schema, $defs: definitions };
}
