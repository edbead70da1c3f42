// A form of a JSON Schema. It knows the value as it is typed in, and shows problems at their fields. Knows no question.

import type { Json, JsonObject, Schema } from "../api/types";
import { FORM } from "../fold/comments";
import { choices, fields, isObject, isScalar, isSecret, kindOf, resolve, startValue, text, type FormProblem } from "../fold/schema";
import { ChecksField } from "./checks_field";
import { JsonField } from "./json_field";
import { BooleanField, ChoiceField, NumberField, TextField } from "./schema_inputs";
import { About, Problem, errorAt, labelFor, lowerLabel, type FieldProps } from "./schema_label";

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

function withField(object: JsonObject, name: string, value: Json | undefined): JsonObject {
  const { [name]: _, ...others } = object;
  return value === undefined ? others : { ...object, [name]: value };
}
