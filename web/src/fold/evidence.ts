// What a question shows beside itself: its payload as parts, each with the view that its schema asks for. A program marks a field with the
// `format` plan, diff, markdown or findings. Knows no DOM.

import type { Json, Schema } from "../api/types";
import { fields, isObject, labelOf, resolve, text } from "./schema";

export type EvidenceKind = "plan" | "diff" | "markdown" | "findings" | "text" | "list" | "fact" | "json";

export interface Evidence {
  name: string;
  label: string;
  kind: EvidenceKind;
  value: Json;
}

const FORMATS: EvidenceKind[] = ["plan", "diff", "markdown", "findings"];
/** A text longer than this has a place of its own. */
const SHORT = 160;

/** Returns the parts of a payload, the short ones first. Empty fields are left out. */
export function evidenceOf(value: Json, schema: Schema | null): Evidence[] {
  const whole = schema === null ? {} : resolve(schema, schema);
  const known = schema === null ? new Map<string, Schema>() : new Map(fields(whole, schema).map((field) => [field.name, field.schema]));
  const parts = isObject(value) ? Object.entries(value) : [["value", value] as [string, Json]];
  const made = parts.filter(([, inner]) => !isEmpty(inner)).map(([name, inner]) => part(name, inner, known.get(name) ?? (isObject(value) ? {} : whole)));
  return [...made.filter(({ kind }) => kind === "fact"), ...made.filter(({ kind }) => kind !== "fact")];
}

function part(name: string, value: Json, schema: Schema): Evidence {
  return { name, label: text(schema["title"]) ?? labelOf(name), kind: kindOf(value, schema), value };
}

function kindOf(value: Json, schema: Schema): EvidenceKind {
  const format = FORMATS.find((kind) => kind === schema["format"]);
  if (format === "findings" ? Array.isArray(value) : format !== undefined && typeof value === "string") return format as EvidenceKind;
  if (typeof value === "string") return looksLikeDiff(value) ? "diff" : value.length > SHORT || value.includes("\n") ? "text" : "fact";
  if (Array.isArray(value)) return value.every((item) => typeof item === "string") ? "list" : "json";
  return typeof value === "object" ? "json" : "fact";
}

function looksLikeDiff(words: string): boolean {
  return /^(diff --git |--- \S)/m.test(words) && /^@@ -\d+(,\d+)? \+\d+(,\d+)? @@/m.test(words);
}

function isEmpty(value: Json): boolean {
  return value === null || value === "" || (Array.isArray(value) && value.length === 0);
}
