// Values from the edits between them: JSON Patches as the differences of checkpoints have them. Values are shared, never changed.

import type { PatchEdit } from "../api/debug_types";
import type { Json } from "../api/types";
import { isObject } from "./schema";

/** Returns a value after edits, in order. */
export function applyPatch(value: Json, patch: PatchEdit[]): Json {
  return patch.reduce((changed, edit) => at(changed, pointerParts(edit.path), edit), value);
}

/** Returns the names and numbers of a JSON pointer. */
export function pointerParts(path: string): string[] {
  return path.split("/").slice(1).map((part) => part.replace(/~1/g, "/").replace(/~0/g, "~"));
}

/** Returns the value at a pointer; undefined if there is none. */
export function valueAt(value: Json, parts: string[]): Json | undefined {
  return parts.reduce<Json | undefined>((inner, part) => child(inner, part), value);
}

function child(value: Json | undefined, part: string): Json | undefined {
  if (Array.isArray(value)) return value[Number(part)];
  return isObject(value) && Object.hasOwn(value, part) ? value[part] : undefined;
}

function at(value: Json | undefined, [part, ...rest]: string[], edit: PatchEdit): Json {
  if (part === undefined) return edit.op === "remove" ? null : edit.value;
  if (Array.isArray(value)) return inList(value, part, rest, edit);
  const fields = isObject(value) ? value : {};
  if (rest.length === 0 && edit.op === "remove") return without(fields, part);
  return { ...fields, [part]: at(child(fields, part), rest, edit) };
}

function inList(items: Json[], part: string, rest: string[], edit: PatchEdit): Json {
  const place = part === "-" ? items.length : Number(part);
  if (rest.length > 0) return items.with(place, at(items[place], rest, edit));
  switch (edit.op) {
    case "add":
      return items.toSpliced(place, 0, edit.value);
    case "remove":
      return items.toSpliced(place, 1);
    case "replace":
      return items.with(place, edit.value);
  }
}

function without(fields: { [name: string]: Json }, name: string): Json {
  const { [name]: _, ...others } = fields;
  return others;
}
