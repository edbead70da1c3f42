// An answer that is one of several kinds: which one, and then its fields.

import { useId } from "preact/hooks";

import type { Json } from "../../api/types";
import { chosenVariant, type Variant } from "../../fold/actions";
import { isObject, resolve, startValue, type FormProblem } from "../../fold/schema";
import { SchemaForm } from "../../parts/schema_form";

interface VariantProps {
  variants: Variant[];
  /** `{"variant": "Refund", "value": ..}`. */
  value: Json | undefined;
  problems: FormProblem[];
  onChange: (value: Json | undefined) => void;
}

export function VariantForm({ variants, value, problems, onChange }: VariantProps) {
  const id = useId();
  const chosen = chosenVariant(variants, value);
  const problem = problems.find(({ path }) => path.length === 0);
  const choose = (own: string): void => {
    const variant = variants.find((one) => one.own === own);
    const first = variant?.form == null ? undefined : startValue(resolve(variant.form, variant.form), variant.form);
    onChange(variant === undefined ? undefined : { variant: own, ...(first === undefined ? {} : { value: first }) });
  };
  const inner = problems.filter(({ path }) => path[0] === "value").map((one) => ({ ...one, path: one.path.slice(1) }));
  return (
    <>
      <div class="field">
        <label class="field-label" for={id}>
          Answer
        </label>
        <select id={id} value={chosen?.own ?? ""} aria-invalid={problem !== undefined} aria-describedby={`${id}-about`} onChange={(event) => choose(event.currentTarget.value)}>
          {chosen === undefined && <option value="">choose</option>}
          {variants.map(({ own }) => (
            <option value={own}>{own}</option>
          ))}
        </select>
        <span class={problem === undefined ? "field-about" : "field-error"} id={`${id}-about`}>
          {problem === undefined ? (chosen?.about ?? "") : `Answer ${problem.text}`}
        </span>
      </div>
      {chosen?.form != null && (
        <SchemaForm key={chosen.own} name={chosen.own} schema={chosen.form} value={isObject(value) ? value["value"] : undefined} problems={inner} onChange={(typed) => onChange({ variant: chosen.own, ...(typed === undefined ? {} : { value: typed }) })} />
      )}
    </>
  );
}
