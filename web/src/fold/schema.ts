// JSON Schemas as forms need them: references followed, kinds named, secrets told from the rest, start values made, answers checked before
// they are sent. The server checks them again. Knows no DOM.

import type { Json, JsonObject, Schema } from "../api/types";

export type FieldKind = "text" | "long-text" | "number" | "integer" | "boolean" | "choice" | "object" | "list" | "checks" | "json";

const DEPTH = 4;
const LONG_FORMATS = ["markdown", "plan", "diff", "text"];

/** Returns the schema behind `$ref`, and behind an `anyOf` whose other part is null. */
export function resolve(schema: Schema, root: Schema, depth = 0): Schema {
  if (depth > 20) return {};
  const reference = schema["$ref"];
  if (typeof reference === "string") {
    const { $ref: _, ...beside } = schema;
    return resolve({ ...(find(root, reference) ?? {}), ...beside }, root, depth + 1);
  }
  const parts = variantsOf(schema);
  const others = parts.filter((part) => part["type"] !== "null");
  if (others.length === 1 && parts.length === 2) {
    const { anyOf: _, oneOf: __, ...beside } = schema;
    return resolve({ ...others[0], ...beside }, root, depth + 1);
  }
  const all = schema["allOf"];
  if (Array.isArray(all) && all.length === 1) {
    const { allOf: _, ...beside } = schema;
    return resolve({ ...(all[0] as Schema), ...beside }, root, depth + 1);
  }
  return schema;
}

/** Returns the parts of `oneOf` or `anyOf`. */
export function variantsOf(schema: Schema): Schema[] {
  const parts = schema["oneOf"] ?? schema["anyOf"];
  return Array.isArray(parts) ? parts.filter(isObject) : [];
}

export function typeOf(schema: Schema): string | undefined {
  const type = schema["type"];
  const names = Array.isArray(type) ? type.filter((name) => name !== "null") : [type];
  return names.length === 1 && typeof names[0] === "string" ? names[0] : undefined;
}

export function isNullable(schema: Schema, root: Schema): boolean {
  const type = schema["type"];
  const reference = schema["$ref"];
  if (typeof reference === "string") return isNullable(find(root, reference) ?? {}, root);
  return (Array.isArray(type) && type.includes("null")) || type === "null" || variantsOf(schema).some((part) => part["type"] === "null");
}

/** Returns the values of an `enum`, of a `const`, or of variants that are constants; null for another schema. */
export function choices(schema: Schema): { value: Json; about: string | null }[] | null {
  const listed = schema["enum"];
  if (Array.isArray(listed)) return listed.filter((value) => value !== null).map((value) => ({ value, about: null }));
  if ("const" in schema) return [{ value: schema["const"] ?? null, about: text(schema["description"]) }];
  const parts = variantsOf(schema);
  const inner = parts.map((part) => choices(part)?.map((choice) => ({ ...choice, about: choice.about ?? text(part["description"]) })) ?? null);
  return parts.length === 0 || inner.includes(null) ? null : inner.flatMap((values) => values ?? []);
}

export function kindOf(schema: Schema, depth = 0): FieldKind {
  if (choices(schema) !== null) return "choice";
  const format = text(schema["format"]);
  switch (typeOf(schema)) {
    case "string":
      return format !== null && LONG_FORMATS.includes(format) ? "long-text" : "text";
    case "number":
      return "number";
    case "integer":
      return "integer";
    case "boolean":
      return "boolean";
    case "object":
      return isObject(schema["properties"]) && depth < DEPTH ? "object" : "json";
    case "array":
      if (schema["uniqueItems"] === true && isObject(schema["items"]) && choices(schema["items"]) !== null) return "checks";
      return isObject(schema["items"]) && depth < DEPTH ? "list" : "json";
    default:
      return "json";
  }
}

/** Returns whether all values of a schema are without parts, such as those of a number or a text. */
export function isScalar(schema: Schema): boolean {
  const parts = variantsOf(schema);
  const types = Array.isArray(schema["type"]) ? schema["type"] : [schema["type"]];
  const isOne = types.every((type) => type !== undefined && type !== "object" && type !== "array");
  return parts.length > 0 ? parts.every((part) => isScalar(part)) : isOne;
}

const SECRET = /(^|[_-])(pass(word|phrase)?|secret|token|api[_-]?key|credentials?|pin|otp)$/i;

/** Returns whether the values of a field are secret: by its schema, or its name. */
export function isSecret(schema: Schema, name = ""): boolean {
  return schema["writeOnly"] === true || schema["format"] === "password" || SECRET.test(name);
}

/** Returns the fields of an object: name, schema, and whether it must be there. */
export function fields(schema: Schema, root: Schema): { name: string; schema: Schema; isRequired: boolean; isNullable: boolean }[] {
  const properties = isObject(schema["properties"]) ? schema["properties"] : {};
  const required = Array.isArray(schema["required"]) ? schema["required"] : [];
  return Object.entries(properties).map(([name, inner]) => {
    const own = isObject(inner) ? inner : {};
    return { name, schema: resolve(own, root), isRequired: required.includes(name), isNullable: isNullable(own, root) };
  });
}

/** Returns a value without the fields that are secret, and without those that its schema does not have. */
export function withoutSecrets(value: Json | undefined, schema: Schema, root: Schema, depth = 0): Json | undefined {
  if (value === undefined || isSecret(schema)) return undefined;
  const kind = kindOf(schema, depth);
  if (kind === "list" && Array.isArray(value)) {
    const items = resolve(schema["items"] as Schema, root);
    return value.flatMap((item) => withoutSecrets(item, items, root, depth + 1) ?? []);
  }
  if (kind !== "object" || !isObject(value)) return value;
  const open = fields(schema, root).filter((field) => !isSecret(field.schema, field.name));
  return Object.fromEntries(
    open.flatMap((field) => {
      const inner = withoutSecrets(value[field.name], field.schema, root, depth + 1);
      return inner === undefined ? [] : [[field.name, inner]];
    }),
  );
}

/** Returns the value that a form begins with; undefined leaves a field out. */
export function startValue(schema: Schema, root: Schema, depth = 0): Json | undefined {
  if ("default" in schema) return schema["default"];
  switch (kindOf(schema, depth)) {
    case "boolean":
      return false;
    case "list":
      return [];
    case "object": {
      const made: JsonObject = {};
      for (const field of fields(schema, root)) {
        const value = field.isRequired || "default" in field.schema ? startValue(field.schema, root, depth + 1) : undefined;
        if (value !== undefined) made[field.name] = value;
      }
      return made;
    }
    default:
      return undefined;
  }
}

export interface FormProblem {
  /** The place as names and numbers: `["items", 2, "count"]`. */
  path: (string | number)[];
  text: string;
}

/** Returns what a value lacks, by field. */
export function problems(value: Json | undefined, schema: Schema, root: Schema, path: (string | number)[] = []): FormProblem[] {
  const say = (words: string): FormProblem[] => [{ path, text: words }];
  if (value === undefined) return say("is missing");
  switch (kindOf(schema, path.length)) {
    case "integer":
    case "number":
      return typeof value === "number" ? numberProblems(value, schema, say) : say("must be a number");
    case "text":
    case "long-text":
      return typeof value === "string" ? textProblems(value, schema, say) : say("must be a text");
    case "choice":
      return (choices(schema) ?? []).some((choice) => same(choice.value, value)) ? [] : say("must be one of the choices");
    case "list":
      if (!Array.isArray(value)) return say("must be a list");
      return value.flatMap((item, at) => problems(item, resolve(schema["items"] as Schema, root), root, [...path, at]));
    case "object":
      return isObject(value) ? objectProblems(value, schema, root, path) : say("must be an object");
    default:
      return [];
  }
}

function objectProblems(value: JsonObject, schema: Schema, root: Schema, path: (string | number)[]): FormProblem[] {
  return fields(schema, root).flatMap((field) => {
    const inner = value[field.name];
    if (inner === undefined && !field.isRequired) return [];
    if (inner === null && field.isNullable) return [];
    return problems(inner, field.schema, root, [...path, field.name]);
  });
}

function numberProblems(value: number, schema: Schema, say: (text: string) => FormProblem[]): FormProblem[] {
  const [least, most] = [schema["minimum"], schema["maximum"]];
  if (typeOf(schema) === "integer" && !Number.isInteger(value)) return say("must be a whole number");
  if (typeof least === "number" && value < least) return say(`must be at least ${least}`);
  if (typeof most === "number" && value > most) return say(`must be at most ${most}`);
  return [];
}

function textProblems(value: string, schema: Schema, say: (text: string) => FormProblem[]): FormProblem[] {
  const [least, most] = [schema["minLength"], schema["maxLength"]];
  if (typeof least === "number" && [...value].length < least) return say(least === 1 ? "must not be empty" : `must have at least ${least} characters`);
  if (typeof most === "number" && [...value].length > most) return say(`must have at most ${most} characters`);
  return [];
}

/** Returns a name as a label: `max_attempts` is `Max attempts`. */
export function labelOf(name: string): string {
  const words = name.replace(/([a-z0-9])([A-Z])/g, "$1 $2").replace(/[_-]+/g, " ").trim().toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

export function text(value: Json | undefined): string | null {
  return typeof value === "string" ? value : null;
}

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function same(a: Json | undefined, b: Json | undefined): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b);
}

function find(root: Schema, reference: string): Schema | undefined {
  let at: Json | undefined = root;
  for (const part of reference.replace(/^#\//, "").split("/")) {
    const name = decodeURIComponent(part).replace(/~1/g, "/").replace(/~0/g, "~");
    at = isObject(at) ? at[name] : undefined;
  }
  return isObject(at) ? at : undefined;
}
