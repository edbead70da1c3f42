// One level of a value in the form in which a server sends it, for a run that is in a file. Knows no run.

import type { ValueEntry, ValueLevel, ValueType } from "../api/run_types";
import type { Json } from "../api/types";
import { isObject } from "./schema";

const PREVIEW = 100;

/** Returns up to `limit` entries of a value after the first ones; all of a text. */
export function levelOf(value: Json, limit: number, after: number): ValueLevel {
  const level: ValueLevel = { type: typeOf(value), size: sizeOf(value), count: countOf(value), entries: [], next: null };
  const all = entriesOf(value);
  if (all === null) return { ...level, value };
  const entries = all.slice(after, after + limit).map(([key, inner]) => entry(key, inner));
  const end = after + entries.length;
  return { ...level, entries, next: end < all.length ? end : null };
}

function entriesOf(value: Json): [string, Json][] | null {
  if (Array.isArray(value)) return value.map((item, place) => [String(place), item]);
  return isObject(value) ? Object.entries(value) : null;
}

function entry(key: string, value: Json): ValueEntry {
  return { key, type: typeOf(value), count: countOf(value), size: sizeOf(value), preview: previewOf(value) };
}

function previewOf(value: Json): string {
  if (typeof value === "string") return value.slice(0, PREVIEW);
  return isObject(value) ? Object.keys(value).join(", ").slice(0, PREVIEW) : Array.isArray(value) ? "" : String(value);
}

function typeOf(value: Json): ValueType {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : (typeof value as ValueType);
}

function countOf(value: Json): number | null {
  if (typeof value === "string") return [...value].length;
  return entriesOf(value)?.length ?? null;
}

function sizeOf(value: Json): number {
  return new TextEncoder().encode(JSON.stringify(value)).length;
}
