// The ways to answer a question as buttons: from the schema of its answer and from the words of the command line. Knows no DOM.

import type { Ask, Json, Schema } from "../api/types";
import { draftField, draftSchema } from "./draft_field";
import { isPlanQuestion } from "./plan";
import { feedbackOf, replyAction, standsFor } from "./replies";
import { choices, isNullable, isObject, labelOf, resolve, text, typeOf, variantsOf } from "./schema";

export interface Action {
  /** The name of its button. */
  name: string;
  /** The answer's own name, if the button has another. */
  own: string | null;
  about: string | null;
  /** Makes the answer of what was typed in. */
  answer: (value: Json) => Json;
  /** The schema of what is typed in; null if nothing is. */
  form: Schema | null;
  /** The field of the answer that the note of the person fills, unless it has a text; an empty name is the answer itself. */
  feedback: string | null;
  /** The ways to answer among which the form lets choose first; null if it has its own fields. */
  variants: Variant[] | null;
  /** Set for a text that replaces the plan: it is edited where the plan is shown. */
  isDraft: boolean;
  /** Asked once more. */
  isFinal: boolean;
}

/** A way to answer before it has its button. */
export interface Variant {
  own: string;
  about: string | null;
  form: Schema | null;
  answer: (value: Json) => Json;
}

/** Names that a button has as they are. */
export const NAMES = ["Approve", "Retry", "Raise", "Revise", "Skip", "Reject", "Abort"];
const FINAL = ["Reject", "Abort"];

/** Returns the actions of a question, the main one first. */
export function actionsOf(ask: Ask): Action[] {
  const { response_schema: schema, replies } = ask;
  const variants = schema === null ? [] : variantsOfAnswer(schema);
  const isNamed = variants.some(({ own, form, answer }) => NAMES.includes(own) || standsFor({ own, form, answer }, replies) !== null);
  const named = isNamed ? distinct(variants.map((variant) => made(variant, ask))) : [];
  const words = (["approve", "revise", "reject"] as const).flatMap((word) => replyAction(word, replies[word], named));
  const actions = [...named, ...words.map((variant) => made(variant, ask))];
  if (actions.length === 0) return [plain(schema, ask)];
  if (actions.length === 1 && actions[0]?.name === "Revise") return [{ ...actions[0], name: "Answer", own: null }];
  if (schema === null) actions.push(plain(null, ask));
  return inOrder(actions);
}

/** The answer as one form; that of an answer with one variant is the variant's. */
function plain(schema: Schema | null, ask: Ask): Action {
  const [only, ...others] = schema === null ? [] : variantsOfAnswer(schema);
  const isWrapped = only !== undefined && others.length === 0 && only.form !== null && choices(schema ?? {}) === null;
  const variant: Variant = isWrapped ? only : { own: "Answer", about: null, form: schema ?? {}, answer: (value) => value };
  const variants = !isWrapped && schema !== null ? variantsOfAnswer(schema) : [];
  const isChosen = variants.some(({ form }) => form !== null);
  return { ...made(variant, ask), name: "Answer", own: null, ...(isChosen ? chosenFirst(variants) : {}) };
}

/** What is typed into a form that lets choose first: `{"variant": "Refund", "value": ..}`. */
function chosenFirst(variants: Variant[]): Pick<Action, "variants" | "feedback" | "answer"> {
  const answer = (typed: Json): Json => chosenVariant(variants, typed)?.answer(isObject(typed) ? (typed["value"] ?? null) : null) ?? null;
  return { variants, feedback: null, answer };
}

export function chosenVariant(variants: Variant[], typed: Json | undefined): Variant | undefined {
  return isObject(typed) ? variants.find(({ own }) => own === typed["variant"]) : undefined;
}

function made(variant: Variant, ask: Ask): Action {
  const word = NAMES.includes(variant.own) ? null : standsFor(variant, ask.replies);
  const name = word ?? variant.own;
  const isDraft = holdsDraft(variant, ask);
  const { form: whole, feedback, answer } = isDraft ? { ...variant, feedback: null } : feedbackOf(variant, ask.replies[name.toLowerCase() as "reject"]);
  const form = isDraft || whole === null ? whole : withTasks(whole, ask);
  return { name, own: word === null ? null : variant.own, about: variant.about, answer, form, feedback, variants: null, isDraft, isFinal: FINAL.includes(name) };
}

/** Returns a form with the tasks of a plan as the choices of its list of them. */
function withTasks(form: Schema, { value }: Ask): Schema {
  const properties = form["properties"];
  const list = isObject(properties) ? properties["tasks"] : undefined;
  if (!isPlanQuestion(value) || !isObject(value) || !isObject(properties) || !isObject(list) || typeOf(list) !== "array") return form;
  const tasks = (Array.isArray(value["tasks"]) ? value["tasks"] : []).filter(isObject);
  const items = { oneOf: tasks.map((task) => ({ const: task["id"] ?? null, description: task["title"] ?? null })) };
  return tasks.length === 0 ? form : { ...form, properties: { ...properties, tasks: { ...list, description: "Those that run; the others are skipped.", items, uniqueItems: true } } };
}

/** Puts what is approved first, then the others as their program lists them, and what ends the run last. */
function inOrder(actions: Action[]): Action[] {
  const rank = ({ name, own, form, isDraft, isFinal }: Action): number => {
    if (isFinal) return 4;
    if (isDraft) return 3;
    if (name === "Answer") return 2;
    return name === "Approve" && own === null && form === null ? 0 : 1;
  };
  return actions.map((action, at) => ({ action, at })).sort((a, b) => rank(a.action) - rank(b.action) || a.at - b.at).map(({ action }) => action);
}

/** One button for each name: of an answer with and without a reason, the one with; a form that must be filled in has a name of its own. */
function distinct(actions: Action[]): Action[] {
  return actions.flatMap((action) => {
    const twins = actions.filter(({ name }) => name === action.name);
    if (twins.length === 1) return [action];
    if (action.form !== null) return [{ ...action, name: `Choose ${Object.keys((action.form["properties"] as object | undefined) ?? {}).map((name) => labelOf(name).toLowerCase()).join(", ")}` }];
    const withReason = twins.find(({ form, feedback }) => form === null && feedback !== null);
    return withReason === undefined || withReason === action ? [action] : [];
  });
}

/** Returns the ways to answer that a schema has a name for. Those of an answer that is no choice are none. */
function variantsOfAnswer(schema: Schema): Variant[] {
  const whole = resolve(schema, schema);
  const found = typeOf(whole) === "boolean" || choices(whole) !== null ? ofPart(whole, schema) : parted(whole, schema);
  const nothing = isNullable(schema, schema) && found.length > 0 ? [fixed("None", null, "No answer.")] : [];
  return [...found, ...nothing];
}

function parted(whole: Schema, root: Schema): Variant[] {
  const parts = variantsOf(whole).filter((part) => part["type"] !== "null").map((part) => ofPart(resolve(part, root), root));
  return parts.some((part) => part.length === 0) ? [] : parts.flat();
}

/** Returns the variants of one part: a truth value, constants, `{"retry": ..}` or `{"decision": "retry", ..}`. */
function ofPart(part: Schema, root: Schema): Variant[] {
  const about = text(part["description"]);
  if (typeOf(part) === "boolean" && !("const" in part)) return [fixed("Approve", true, null), fixed("Reject", false, null)];
  const listed = choices(part);
  if (listed !== null) return listed.flatMap(({ value, about: own }) => (typeof value === "string" ? [fixed(labelOf(value), value, own ?? about)] : []));
  const properties = part["properties"];
  if (!isObject(properties)) return [];
  const names = Object.keys(properties);
  const tag = names.find((name) => isObject(properties[name]) && typeof properties[name]["const"] === "string");
  if (tag !== undefined) return [tagged(part, properties, tag, root)];
  const [name] = names;
  if (names.length !== 1 || name === undefined) return [];
  return [wrapped(name, resolve(isObject(properties[name]) ? properties[name] : {}, root), root, about)];
}

function wrapped(name: string, inner: Schema, root: Schema, about: string | null): Variant {
  const isEmpty = typeOf(inner) === "object" && isObject(inner["properties"]) && Object.keys(inner["properties"]).length === 0;
  return { own: labelOf(name), about: about ?? text(inner["description"]), form: isEmpty ? null : withRoot(inner, root), answer: (value) => ({ [name]: isEmpty ? {} : value }) };
}

function tagged(part: Schema, properties: { [name: string]: Json }, tag: string, root: Schema): Variant {
  const value = (properties[tag] as Schema)["const"] as string;
  const { [tag]: _, ...others } = properties;
  const required = Array.isArray(part["required"]) ? part["required"].filter((name) => name !== tag) : [];
  const form = Object.keys(others).length === 0 ? null : withRoot({ ...part, properties: others, required }, root);
  return { own: labelOf(value), about: text(part["description"]), form, answer: (typed) => ({ ...(isObject(typed) ? typed : {}), [tag]: value }) };
}

function fixed(own: string, value: Json, about: string | null): Variant {
  return { own, about, form: null, answer: () => value };
}

/** Returns whether a form is the text that the question offers for editing. */
function holdsDraft({ own, form }: Variant, ask: Ask): boolean {
  const field = form === null ? null : draftField(form);
  if (form === null || field === null) return false;
  return draftSchema(form, field)["format"] === "plan" || (ask.draft !== null && /^edit\b/i.test(own));
}

/** Returns an answer in a few words: `approve`, `retry`, `yes`. */
export function answerText(value: Json): string {
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (isObject(value) && Object.keys(value).length === 1) return labelOf(Object.keys(value)[0] ?? "").toLowerCase();
  const words = typeof value === "string" ? value : JSON.stringify(value);
  return words.length > 80 ? `${words.slice(0, 80)}…` : words;
}

function withRoot(schema: Schema, root: Schema): Schema {
  const definitions = root["$defs"];
  return definitions === undefined || schema === root ? schema : { ...schema, $defs: definitions };
}

