// A field for several of a few values: a check box for each. Knows no schema.

import { useId } from "preact/hooks";

import type { Json } from "../api/types";
import { same } from "../fold/schema";
import { Visible } from "./visible";

interface ChecksFieldProps {
  label: string;
  about: string | null;
  choices: { value: Json; about: string | null }[];
  value: Json | undefined;
  error: string | null;
  onChange: (value: Json[]) => void;
}

export function ChecksField({ label, about, choices, value, error, onChange }: ChecksFieldProps) {
  const id = useId();
  const chosen = Array.isArray(value) ? value : [];
  const isChosen = (one: Json): boolean => chosen.some((other) => same(one, other));
  // In the order in which they are offered.
  const toggle = (one: Json): void => onChange(choices.map((choice) => choice.value).filter((other) => (same(other, one) ? !isChosen(one) : isChosen(other))));
  return (
    <fieldset class="field checks" aria-describedby={`${id}-about ${id}-error`} aria-invalid={error !== null}>
      <legend class="field-label">{label}</legend>
      <span class="field-about" id={`${id}-about`}>
        {about ?? ""}
      </span>
      {choices.map((choice) => (
        <label class="field-check" key={JSON.stringify(choice.value)}>
          <input type="checkbox" checked={isChosen(choice.value)} onChange={() => toggle(choice.value)} />
          <span>
            <strong>
              <Visible text={typeof choice.value === "string" ? choice.value : JSON.stringify(choice.value)} />
            </strong>{" "}
            {choice.about !== null && <Visible text={choice.about} />}
          </span>
        </label>
      ))}
      <span class="field-error" id={`${id}-error`}>
        {error ?? ""}
      </span>
    </fieldset>
  );
}
