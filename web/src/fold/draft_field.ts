// The text of an answer that replaces what the question offers for editing, such as a plan. Knows no button.

import type { Json, Schema } from "../api/types";
import { isObject, labelOf, typeOf } from "./schema";

/** An answer with the schema of what is typed in. */
interface DraftAnswer {
  form: Schema | null;
  answer: (value: Json) => Json;
}

/** Fields whose text is a plan without a format. */
const PLANS = ["", "markdown", "plan"];

/** Returns the only field of a form, if it is a text: an empty name for a form that is one itself. */
export function draftField(form: Schema): string | null {
  if (typeOf(form) === "string") return "";
  const properties = isObject(form["properties"]) ? Object.entries(form["properties"]) : [];
  const [only, ...others] = properties;
  return only !== undefined && others.length === 0 && isObject(only[1]) && typeOf(only[1]) === "string" ? only[0] : null;
}

/** Returns the schema of that field. */
export function draftSchema(form: Schema, field: string): Schema {
  return field === "" ? form : ((form["properties"] as { [name: string]: Schema } | undefined)?.[field] ?? {});
}

/** Returns the name of the text box in which the text is edited: `Plan` for a plan, else that of its field. */
export function draftLabel({ form }: DraftAnswer): string {
  const field = form === null ? "" : (draftField(form) ?? "");
  const isPlan = PLANS.includes(field) || (form !== null && draftSchema(form, field)["format"] === "plan");
  return isPlan ? "Plan" : labelOf(field);
}

/** Returns the answer that an edited text is. */
export function draftAnswer({ form, answer }: DraftAnswer, words: string): Json {
  const field = form === null ? "" : (draftField(form) ?? "");
  return answer(field === "" ? words : { [field]: words });
}
