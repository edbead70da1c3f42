// What all fields of a form have: a label, a text about them, the problem of their value. Knows no kind of field.

import type { ComponentChildren } from "preact";

import type { Json, Schema } from "../api/types";
import { labelOf, text, type FormProblem } from "../fold/schema";

export interface FieldProps {
  name: string;
  schema: Schema;
  root: Schema;
  value: Json | undefined;
  path: (string | number)[];
  problems: FormProblem[];
  isRequired: boolean;
  isNullable?: boolean;
  /** Set if labels are the names of the properties as they are. */
  isVerbatim: boolean;
  onChange: (value: Json | undefined) => void;
}

export function Labelled({ id, props, children }: { id: string; props: FieldProps; children: ComponentChildren }) {
  return (
    <div class="field">
      <span>
        <label class="field-label" for={id}>
          {labelFor(props)}
        </label>
        {!props.isRequired && <span class="soft"> (optional)</span>}
      </span>
      <About schema={props.schema} id={`${id}-about`} />
      {children}
      <Problem text={errorAt(props)} id={`${id}-error`} />
    </div>
  );
}

export function About({ schema, id }: { schema: Schema; id?: string }) {
  const about = text(schema["description"]);
  return about === null ? null : (
    <span class="field-about" id={id}>
      {about}
    </span>
  );
}

export function Problem({ text, id }: { text: string | null; id?: string }) {
  return text === null ? null : (
    <span class="field-error" id={id}>
      {text}
    </span>
  );
}

export function marks(props: FieldProps, id: string): { "aria-invalid": boolean; "aria-describedby": string | undefined } {
  const error = errorAt(props);
  const ids = [text(props.schema["description"]) === null ? "" : `${id}-about`, error === null ? "" : `${id}-error`].filter((part) => part !== "");
  return { "aria-invalid": error !== null, "aria-describedby": ids.length === 0 ? undefined : ids.join(" ") };
}

export function errorAt({ path, problems, name, isVerbatim }: FieldProps): string | null {
  const found = problems.find((problem) => problem.path.length === path.length && problem.path.every((part, at) => part === path[at]));
  return found === undefined ? null : `${isVerbatim ? name : labelOf(name)} ${found.text}`;
}

export function labelFor({ name, schema, isVerbatim }: FieldProps): string {
  if (isVerbatim) return name;
  return text(schema["title"]) ?? (/[A-Z_\d ]/.test(name) && name.includes(" ") ? name : labelOf(name));
}

export function lowerLabel(props: FieldProps): string {
  return props.isVerbatim ? props.name : labelFor(props).toLowerCase();
}
