// Parts inside a value that its schema marks with a `format`: taken out of it, so that each is shown as what it is. Knows no view.

import type { Json, JsonObject, Schema } from "../api/types";
import { looksLikeFindings } from "./findings";
import { fields, isObject, labelOf, resolve, text } from "./schema";

/** A value with its place, its name on the page and its schema. */
export interface LabelledValue {
  /** Its place: `files/0/diff`. */
  name: string;
  label: string;
  value: Json;
  schema: Schema;
}

export interface SplitValue {
  marked: LabelledValue[];
  /** The value without them. */
  rest: Json;
}

const TEXTS = ["plan", "diff", "markdown"];
/** Levels below a field of the payload that are searched. */
const DEPTH = 2;
/** Items of a list that are taken apart. */
const MOST = 50;
/** The longest text that names the item it is in. */
const TITLE = 80;

/** Takes the marked parts out of a field of a payload; the field itself stays. */
export function splitMarked(place: LabelledValue, root: Schema, depth = DEPTH): SplitValue {
  const { value, schema } = place;
  const whole = { marked: [], rest: value };
  if (depth === 0 || isMarked(schema, value)) return whole;
  if (Array.isArray(value)) return looksLikeFindings(value) ? whole : splitList(place, value, root, depth);
  return isObject(value) ? splitObject(place, value, root, depth) : whole;
}

function splitObject({ name, label, schema }: LabelledValue, value: JsonObject, root: Schema, depth: number): SplitValue {
  const known = new Map(fields(schema, root).map((field) => [field.name, field.schema]));
  const marked: LabelledValue[] = [];
  const rest: JsonObject = {};
  for (const [key, inner] of Object.entries(value)) {
    const own = known.get(key) ?? {};
    const words = (text(own["title"]) ?? labelOf(key)).toLowerCase();
    if (isMarked(own, inner)) marked.push({ name: `${name}/${key}`, label: `${label}: ${words}`, value: inner, schema: own });
    else {
      const split = splitMarked({ name: `${name}/${key}`, label: `${label}, ${words}`, value: inner, schema: own }, root, depth - 1);
      marked.push(...split.marked);
      if (split.marked.length === 0 || !isNothing(split.rest)) rest[key] = split.rest;
    }
  }
  return { marked, rest };
}

function splitList({ name, label, schema }: LabelledValue, list: Json[], root: Schema, depth: number): SplitValue {
  const items = isObject(schema["items"]) ? resolve(schema["items"], root) : {};
  const marked: LabelledValue[] = [];
  const rest: Json[] = [];
  list.forEach((value, at) => {
    if (at >= MOST) return void rest.push(value);
    const title = titleOf(value, items, root);
    const place = { name: `${name}/${at}`, label: title ?? `${label} ${at + 1}`, value, schema: items };
    if (isMarked(items, value)) return void marked.push(place);
    // An object is a level only with its fields.
    const split = splitMarked(place, root, isObject(value) ? depth : depth - 1);
    marked.push(...split.marked);
    const isSaid = split.marked.length > 0 && (isNothing(split.rest) || (title !== null && isObject(split.rest) && Object.keys(split.rest).length === 1));
    if (!isSaid) rest.push(split.rest);
  });
  return { marked, rest: marked.length === 0 ? list : rest };
}

/** Returns the text that names an item of a list: the first short one that is not marked itself. */
function titleOf(value: Json, schema: Schema, root: Schema): string | null {
  if (!isObject(value)) return null;
  const known = new Map(fields(schema, root).map((field) => [field.name, field.schema]));
  const isTitle = ([key, inner]: [string, Json]): boolean => typeof inner === "string" && inner !== "" && inner.length <= TITLE && !inner.includes("\n") && !isMarked(known.get(key) ?? {}, inner);
  return text(Object.entries(value).find(isTitle)?.[1]);
}

function isMarked(schema: Schema, value: Json): boolean {
  const format = text(schema["format"]);
  if (format === "findings") return Array.isArray(value) && value.length > 0;
  return format !== null && TEXTS.includes(format) && typeof value === "string" && value !== "";
}

function isNothing(value: Json): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}
