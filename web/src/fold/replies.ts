// The words of the command line: the answers that approve, reject and revise stand for, and the texts of a person in answers. Knows no DOM.

import type { Ask, Json, Schema } from "../api/types";
import type { Action, Variant } from "./actions";
import { isObject, labelOf, same, text, typeOf } from "./schema";

type Word = "approve" | "revise" | "reject";

/** The place in an answer that the text of a person takes. */
export const PLACE = "{feedback}";

/** Fields that the note of a person fills; `note` has no box of its own. */
const FEEDBACKS = ["note", "feedback", "why", "reason", "comment", "comments"];
const LABELS: Record<Word, string> = { approve: "Reason", reject: "Reason", revise: "What to change" };

/** Returns the button whose answer a variant is: `Approve` for one that is called otherwise. */
export function standsFor({ own, form, answer }: Pick<Variant, "own" | "form" | "answer">, replies: Ask["replies"]): string | null {
  for (const word of ["approve", "reject", "revise"] as const) {
    const reply = replies[word];
    if (reply === undefined) continue;
    if (form === null ? same(answer(null), reply) : keyOf(reply) === own && fills(form, reply)) return labelOf(word);
  }
  return null;
}

/** Returns the variant of a word, unless an action has it already. */
export function replyAction(word: Word, reply: Json | undefined, actions: Action[]): Variant[] {
  if (reply === undefined) return [];
  const isThere = actions.some((action) => {
    if (action.name === labelOf(word)) return true;
    if (action.form === null && action.feedback === null) return same(action.answer(null), reply);
    return keyOf(reply) === (action.own ?? action.name) && (action.form === null || fills(action.form, reply));
  });
  if (isThere) return [];
  const form: Schema = { type: "object", properties: { feedback: { type: "string", minLength: 1, format: "text", title: LABELS[word] } }, required: ["feedback"] };
  const answer = (typed: Json): Json => fill(reply, isObject(typed) ? (text(typed["feedback"]) ?? "") : "");
  return [{ own: labelOf(word), about: meaning(reply), form: holdsPlace(reply) ? form : null, answer }];
}

/** Says which answer a word of the command line is: `Override: DONE.` */
function meaning(reply: Json): string | null {
  const name = keyOf(reply);
  const inner = isObject(reply) ? Object.values(reply)[0] : undefined;
  if (name === null || !isObject(inner)) return null;
  const values = Object.values(inner).filter((value) => (typeof value === "string" && value !== "" && value !== PLACE) || typeof value === "number");
  return `${[name, values.join(", ")].filter((words) => words !== "").join(": ")}.`;
}

interface Split {
  form: Schema | null;
  feedback: string | null;
  answer: Variant["answer"];
}

/** Splits a form into what is typed in and the field that the note fills. A form of nothing but a reason that may be left out is none. */
export function feedbackOf({ own, form, answer }: Variant, reply: Json | undefined): Split {
  const properties = form !== null && isObject(form["properties"]) ? form["properties"] : {};
  const isText = (name: string): boolean => isObject(properties[name]) && typeOf(properties[name]) === "string";
  const feedback = FEEDBACKS.find(isText) ?? null;
  if (form === null || feedback === null) return { form, feedback: null, answer };
  const required = requiredOf(form);
  const { [feedback]: _, ...others } = properties;
  const isAlone = Object.keys(others).length === 0;
  const isEmptyFine = reply !== undefined && keyOf(reply) === own && !holdsPlace(reply);
  if (isAlone && required.length === 0) return { form: null, feedback, answer };
  if (isAlone && isEmptyFine) return { form: null, feedback, answer: (typed) => answer({ [feedback]: "", ...(isObject(typed) ? typed : {}) }) };
  if (isAlone || feedback !== "note") return { form, feedback, answer };
  return { form: { ...form, properties: others, required: required.filter((name) => name !== feedback) }, feedback, answer };
}

/** Puts a text into an answer where the server has left a place for it. */
export function fill(answer: Json, words: string): Json {
  if (typeof answer === "string") return answer === PLACE ? words : answer;
  if (Array.isArray(answer)) return answer.map((value) => fill(value, words));
  if (!isObject(answer)) return answer;
  return Object.fromEntries(Object.entries(answer).map(([name, value]) => [name, fill(value, words)]));
}

export function holdsPlace(answer: Json): boolean {
  if (Array.isArray(answer)) return answer.some(holdsPlace);
  return isObject(answer) ? Object.values(answer).some(holdsPlace) : answer === PLACE;
}

/** The name of a variant in an answer: `Retry` in `{"retry": ..}`. */
function keyOf(reply: Json): string | null {
  const keys = isObject(reply) ? Object.keys(reply) : [];
  return keys.length === 1 ? labelOf(keys[0] ?? "") : null;
}

/** Returns whether a reply has all that a form must have from the person, and nothing that the person would choose. */
function fills(form: Schema, reply: Json): boolean {
  const inner = isObject(reply) ? Object.values(reply)[0] : undefined;
  if (typeOf(form) === "string") return inner === PLACE || inner === "";
  return isObject(inner) && requiredOf(form).every((name) => inner[name] === PLACE || inner[name] === "");
}

function requiredOf(form: Schema): string[] {
  return Array.isArray(form["required"]) ? form["required"].filter((name) => typeof name === "string") : [];
}
