// The fields of a form that have one value: a text, a number, yes or no, one of several.

import { useId } from "preact/hooks";

import { choices, isSecret } from "../fold/schema";
import { About, Labelled, Problem, errorAt, labelFor, marks, type FieldProps } from "./schema_label";

export function TextField(props: FieldProps & { isLong: boolean }) {
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

export function NumberField(props: FieldProps) {
  const { value, schema, isRequired, onChange } = props;
  const id = useId();
  const typed = (words: string): void => onChange(words.trim() === "" ? undefined : Number.isNaN(Number(words)) ? words : Number(words));
  return (
    <Labelled id={id} props={props}>
      <input id={id} inputMode={schema["type"] === "integer" ? "numeric" : "decimal"} value={value === undefined || value === null ? "" : String(value)} aria-required={isRequired} {...marks(props, id)} onInput={(event) => typed(event.currentTarget.value)} />
    </Labelled>
  );
}

export function BooleanField(props: FieldProps) {
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

export function ChoiceField(props: FieldProps) {
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
