// An answer as it is sent: what was typed in, the note, and the comments on lines, each where it belongs. Knows no DOM.

import type { Json, Schema } from "../api/types";
import { chosenVariant, type Action, type Variant } from "./actions";
import { withComments, type Comment } from "./comments";
import { isObject, problems as problemsOf, resolve, type FormProblem } from "./schema";

export interface Given {
  answer: Json;
  note: string;
  problems: FormProblem[];
}

/** Returns the answer of an action. Its feedback, if nothing was typed there, is the note; comments are in both. */
export function giveAnswer(action: Action, typed: Json | undefined, note: string, comments: Comment[]): Given {
  const whole = withComments(note, comments);
  const value = withFeedback(action, typed, whole, comments);
  const problems = action.variants !== null ? problemsOfVariant(action.variants, value) : problemsOfForm(action.form, value);
  return { answer: action.answer(value ?? null), note: whole, problems };
}

function problemsOfForm(form: Schema | null, value: Json | undefined): FormProblem[] {
  return form === null ? [] : problemsOf(value, resolve(form, form), form);
}

function problemsOfVariant(variants: Variant[], typed: Json | undefined): FormProblem[] {
  const chosen = chosenVariant(variants, typed);
  if (chosen === undefined) return [{ path: [], text: "must be one of the choices" }];
  return problemsOfForm(chosen.form, isObject(typed) ? typed["value"] : undefined).map((problem) => ({ ...problem, path: ["value", ...problem.path] }));
}

function withFeedback({ feedback }: Action, typed: Json | undefined, note: string, comments: Comment[]): Json | undefined {
  if (feedback === null) return typed;
  const fields = isObject(typed) ? typed : {};
  const own = fields[feedback];
  const words = typeof own === "string" && own.trim() !== "" ? withComments(own, comments) : note;
  return words.trim() === "" ? typed ?? {} : { ...fields, [feedback]: words };
}

/** Returns whether the note alone answers: there is a form, and nothing in it must be typed in besides. */
export function isAnsweredByNote(action: Action, note: string, comments: Comment[]): boolean {
  const { feedback, form } = action;
  if (feedback === null || form === null || withComments(note, comments).trim() === "") return false;
  const required = Array.isArray(form["required"]) ? form["required"] : [];
  return required.length > 0 && required.every((name) => name === feedback);
}
