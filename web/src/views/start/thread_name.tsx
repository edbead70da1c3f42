// The name of the thread that a run makes.

import { useId } from "preact/hooks";

interface ThreadNameProps {
  graph: string;
  name: string;
  error: string | null;
  onName: (name: string) => void;
}

export function ThreadName({ graph, name, error, onName }: ThreadNameProps) {
  const id = useId();
  return (
    <div class="field">
      <span>
        <label class="field-label" for={id}>
          Thread name
        </label>
        <span class="soft"> (optional)</span>
      </span>
      <span class="field-about" id={`${id}-about`}>
        The run is found by it. Left empty, a name such as {graph}-3f9a1c0b is made.
      </span>
      <input id={id} value={name} autocomplete="off" spellcheck={false} aria-invalid={error !== null} aria-describedby={`${id}-about${error === null ? "" : ` ${id}-error`}`} onInput={(event) => onName(event.currentTarget.value)} />
      {error !== null && (
        <span class="field-error" id={`${id}-error`}>
          {error}
        </span>
      )}
    </div>
  );
}
