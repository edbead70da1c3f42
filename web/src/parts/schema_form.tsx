// A form of a JSON Schema. It knows the value as it is typed in, and shows problems at their fields. Knows no question.

import { useId } from "preact/hooks";

import type { Json, JsonObject, Schema } from "../api/types";
import { FORM } from "../fold/comments";
import { choices, fields, isObject, isScalar, isSecret, kindOf, labelOf, resolve, startValue, text, type FormProblem } from "../fold/schema";
import { ChecksField } from "./checks_field";
import { JsonField } from "./json_field";

interface FieldProps {
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

/** The fields of a schema; those of an object without a frame of their own. */
export function SchemaForm({ schema, value, problems, name = "Answer", isVerbatim = false, onChange }: {
  schema: Schema;
  value: Json | undefined;
  problems: FormProblem[];
  name?: string;
  isVerbatim?: boolean;
  onChange: (value: Json | undefined) => void;
}) {
  const whole = resolve(schema, schema);
  const shared = { root: schema, value, problems, path: [], onChange, isRequired: true, isVerbatim };
  return kindOf(whole) === "object" ? <ObjectFields {...shared} name={name} schema={whole} /> : <Field {...shared} name={name} schema={whole} />;
}

function Field(props: FieldProps) {
  const { schema, path, value } = props;
  switch (kindOf(schema, path.length)) {
    case "object":
      return <ObjectField {...props} />;
    case "list":
      return <ListField {...props} />;
    case "checks":
      return <ChecksField label={labelFor(props)} about={text(schema["description"])} choices={choices(isObject(schema["items"]) ? schema["items"] : {}) ?? []} value={value} error={errorAt(props)} onChange={props.onChange} />;
    case "boolean":
      return <BooleanField {...props} />;
    case "choice":
      return <ChoiceField {...props} />;
    case "text":
      return <TextField {...props} isLong={typeof value === "string" && value.length > 80} />;
    case "long-text":
      return <TextField {...props} isLong />;
    case "number":
    case "integer":
      return <NumberField {...props} />;
    default:
      return <JsonField place={isSecret(schema, props.name) ? undefined : `${FORM}${path.join("/")}`} label={labelFor(props)} about={text(schema["description"])} value={value} error={errorAt(props)} isRequired={props.isRequired} isShort={isScalar(schema)} onChange={props.onChange} />;
  }
}

function ObjectFields({ schema, root, value, path, problems, isVerbatim, onChange }: FieldProps) {
  const made = isObject(value) ? value : {};
  return (
    <>
      {fields(schema, root).map((field) => (
        <Field
          key={field.name}
          {...field}
          root={root}
          isVerbatim={isVerbatim}
          value={made[field.name]}
          path={[...path, field.name]}
          problems={problems}
          onChange={(inner) => onChange(withField(made, field.name, inner))}
        />
      ))}
    </>
  );
}

function ObjectField(props: FieldProps) {
  const { schema, root, value, isRequired, onChange } = props;
  const isThere = isObject(value);
  return (
    <fieldset class="form-group stack" aria-invalid={errorAt(props) !== null || undefined}>
      <legend class="field-label">{labelFor(props)}</legend>
      <About schema={schema} />
      {isThere && <ObjectFields {...props} />}
      {!isThere && (
        <button class="button" type="button" onClick={() => onChange(startValue(schema, root) ?? {})}>
          Add {lowerLabel(props)}
        </button>
      )}
      {isThere && !isRequired && (
        <button class="button" data-kind="quiet" type="button" onClick={() => onChange(undefined)}>
          Leave out {lowerLabel(props)}
        </button>
      )}
      <Problem text={errorAt(props)} />
    </fieldset>
  );
}

function ListField(props: FieldProps) {
  const { schema, root, value, path, problems, onChange } = props;
  const items = Array.isArray(value) ? value : [];
  const inner = resolve(schema["items"] as Schema, root);
  const replace = (at: number, item: Json | undefined): void => onChange(items.map((old, place) => (place === at ? (item ?? null) : old)));
  return (
    <fieldset class="form-group stack" aria-invalid={errorAt(props) !== null || undefined}>
      <legend class="field-label">{labelFor(props)}</legend>
      <About schema={schema} />
      {items.map((item, at) => (
        <div class="form-item" key={at}>
          <Field name={`${labelFor(props)} ${at + 1}`} schema={inner} root={root} value={item ?? undefined} path={[...path, at]} problems={problems} isRequired isVerbatim={props.isVerbatim} onChange={(changed) => replace(at, changed)} />
          <button class="button" data-kind="quiet" type="button" aria-label={`Remove ${labelFor(props)} ${at + 1}`} onClick={() => onChange(items.filter((_, place) => place !== at))}>
            Remove
          </button>
        </div>
      ))}
      <div>
        <button class="button" type="button" onClick={() => onChange([...items, startValue(inner, root) ?? null])}>
          Add to {lowerLabel(props)}
        </button>
      </div>
      <Problem text={errorAt(props)} />
    </fieldset>
  );
}

function TextField(props: FieldProps & { isLong: boolean }) {
  const { value, isLong, isRequired, isNullable, onChange } = props;
  const id = useId();
  const typed = (words: string): void => onChange(words === "" && (isNullable === true || !isRequired) ? undefined : words);
  const shared = { id, value: typeof value === "string" ? value : "", "aria-required": isRequired, ...marks(props, id) };
  const isHidden = isSecret(props.schema);
  return (
    <Labelled id={id} props={props}>
      {isLong && !isHidden ? <textarea {...shared} rows={5} onInput={(event) => typed(event.currentTarget.value)} /> : <input {...shared} {...(isHidden ? { type: "password", autocomplete: "off" } : {})} onInput={(event) => typed(event.currentTarget.value)} />}
    </Labelled>
  );
}

function NumberField(props: FieldProps) {
  const { value, schema, isRequired, onChange } = props;
  const id = useId();
  const typed = (words: string): void => onChange(words.trim() === "" ? undefined : Number.isNaN(Number(words)) ? words : Number(words));
  return (
    <Labelled id={id} props={props}>
      <input id={id} inputMode={schema["type"] === "integer" ? "numeric" : "decimal"} value={value === undefined || value === null ? "" : String(value)} aria-required={isRequired} {...marks(props, id)} onInput={(event) => typed(event.currentTarget.value)} />
    </Labelled>
  );
}

function BooleanField(props: FieldProps) {
  const { schema, value, onChange } = props;
  return (
    <div class="field">
      <label class="field-check">
        <input type="checkbox" checked={value === true} onChange={(event) => onChange(event.currentTarget.checked)} />
        {labelFor(props)}
      </label>
      <About schema={schema} />
      <Problem text={errorAt(props)} />
    </div>
  );
}

function ChoiceField(props: FieldProps) {
  const { schema, value, isRequired, onChange } = props;
  const id = useId();
  const all = choices(schema) ?? [];
  const at = all.findIndex((choice) => JSON.stringify(choice.value) === JSON.stringify(value));
  return (
    <Labelled id={id} props={props}>
      <select id={id} value={String(at)} {...marks(props, id)} onChange={(event) => onChange(all[Number(event.currentTarget.value)]?.value)}>
        {(at < 0 || !isRequired) && <option value="-1">{isRequired ? "choose" : "(none)"}</option>}
        {all.map((choice, place) => (
          <option value={String(place)}>{typeof choice.value === "string" ? choice.value : JSON.stringify(choice.value)}</option>
        ))}
      </select>
    </Labelled>
  );
}

function Labelled({ id, props, children }: { id: string; props: FieldProps; children: preact.ComponentChildren }) {
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

function About({ schema, id }: { schema: Schema; id?: string }) {
  const about = text(schema["description"]);
  return about === null ? null : (
    <span class="field-about" id={id}>
      {about}
    </span>
  );
}

function Problem({ text, id }: { text: string | null; id?: string }) {
  return text === null ? null : (
    <span class="field-error" id={id}>
      {text}
    </span>
  );
}

function marks(props: FieldProps, id: string): { "aria-invalid": boolean; "aria-describedby": string | undefined } {
  const error = errorAt(props);
  const ids = [text(props.schema["description"]) === null ? "" : `${id}-about`, error === null ? "" : `${id}-error`].filter((part) => part !== "");
  return { "aria-invalid": error !== null, "aria-describedby": ids.length === 0 ? undefined : ids.join(" ") };
}

function errorAt({ path, problems, name, isVerbatim }: FieldProps): string | null {
  const found = problems.find((problem) => problem.path.length === path.length && problem.path.every((part, at) => part === path[at]));
  return found === undefined ? null : `${isVerbatim ? name : labelOf(name)} ${found.text}`;
}

function labelFor({ name, schema, isVerbatim }: FieldProps): string {
  if (isVerbatim) return name;
  return text(schema["title"]) ?? (/[A-Z_\d ]/.test(name) && name.includes(" ") ? name : labelOf(name));
}

function lowerLabel(props: FieldProps): string {
  return props.isVerbatim ? props.name : labelFor(props).toLowerCase();
}

function withField(object: JsonObject, name: string, value: Json | undefined): JsonObject {
  const { [name]: _, ...others } = object;
  return value === undefined ? others : { ...object, [name]: value };
}
