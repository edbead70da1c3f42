// A field for JSON of any form: as text, which may be no JSON while it is typed.

import { createContext } from "preact";
import { useContext, useId, useState } from "preact/hooks";

import type { Json } from "../api/types";
import { NO_WRITING } from "../fold/comments";

/** Texts that are no JSON yet, by the place of their field; kept where an answer is kept, and nowhere else. */
export const HalfTyped = createContext(NO_WRITING);

interface JsonFieldProps {
  /** The path of the field, for texts that are no JSON yet; left out for a secret. */
  place?: string | undefined;
  label: string;
  about: string | null;
  value: Json | undefined;
  error: string | null;
  isRequired: boolean;
  /** Set for a value without parts. */
  isShort?: boolean;
  onChange: (value: Json | undefined) => void;
}

export function JsonField({ place, label, about, value, error, isRequired, isShort = false, onChange }: JsonFieldProps) {
  const id = useId();
  const kept = useContext(HalfTyped);
  const half = place === undefined ? undefined : kept.all.get(place);
  const [words, setWords] = useState(half ?? (value === undefined ? "" : JSON.stringify(value, null, 2)));
  const [misfit, setMisfit] = useState<string | null>(half === undefined ? null : parse(half).problem);
  const typed = (input: string): void => {
    setWords(input);
    const { value: read, problem } = parse(input);
    setMisfit(problem);
    if (place !== undefined) kept.write(place, problem === null ? "" : input);
    onChange(read);
  };
  const problem = misfit ?? error;
  const shared = { id, class: "field-json", value: words, spellcheck: false, "data-misfit": misfit !== null || undefined, "aria-invalid": problem !== null, "aria-describedby": `${id}-about ${id}-error` };
  return (
    <div class="field">
      <span>
        <label class="field-label" for={id}>
          {label}
        </label>
        {!isRequired && <span class="soft"> (optional)</span>}
      </span>
      <span class="field-about" id={`${id}-about`}>
        {about ?? "As JSON; text that is no JSON is taken as a text."}
      </span>
      {isShort ? <input {...shared} onInput={(event) => typed(event.currentTarget.value)} /> : <textarea {...shared} onInput={(event) => typed(event.currentTarget.value)} />}
      <span class="field-error" id={`${id}-error`}>
        {problem ?? ""}
      </span>
    </div>
  );
}

/** Reads JSON. What does not look like JSON is a text; what does and is none is a problem. */
export function parse(input: string): { value: Json | undefined; problem: string | null } {
  const trimmed = input.trim();
  if (trimmed === "") return { value: undefined, problem: null };
  try {
    return { value: JSON.parse(trimmed) as Json, problem: null };
  } catch (error) {
    const looksLikeJson = /^[[{"]/.test(trimmed);
    return looksLikeJson ? { value: undefined, problem: `This is no JSON: ${(error as Error).message}` } : { value: input, problem: null };
  }
}
