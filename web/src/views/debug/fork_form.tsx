// A branch of a run as a thread of its own, with other values if wanted, and what would run in it.

import { useState } from "preact/hooks";

import type { ForkResult } from "../../api/debug_types";
import { RequestError, request } from "../../api/source";
import type { Json } from "../../api/types";
import { overwrites } from "../../fold/fork";
import { isObject } from "../../fold/schema";
import { Button } from "../../parts/button";
import { JsonField } from "../../parts/json_field";
import { ErrorNote } from "../../parts/notes";
import { go } from "../../routing/navigation";

export function ForkForm({ thread, checkpoint }: { thread: string; checkpoint: string }) {
  const [name, setName] = useState(`${thread}-fork`);
  const [values, setValues] = useState<Json | undefined>(undefined);
  const [preview, setPreview] = useState<ForkResult | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const send = (isPreview: boolean): void => {
    setError(null);
    if (values !== undefined && !isObject(values)) return setError(new RequestError(422, "State", "the values must be a JSON object of channels"));
    const body = { checkpoint: Number(checkpoint), thread: name, preview: isPreview, ...(values === undefined ? {} : { values: overwrites(values) }) };
    request<ForkResult>(`/threads/${encodeURIComponent(thread)}/fork`, { method: "POST", body }).then(
      (made) => (isPreview ? setPreview(made) : go({ view: "thread", thread: made.thread })),
      (cause: Error) => setError(cause),
    );
  };
  return (
    <form class="card stack" onSubmit={(event) => (event.preventDefault(), send(false))}>
      <h3>Fork at checkpoint {checkpoint}</h3>
      <label class="field">
        <span class="field-label">Name</span>
        <input value={name} onInput={(event) => setName(event.currentTarget.value)} />
      </label>
      <JsonField label="State" about="Channels that get other values, as a JSON object; the others stay." value={values} error={null} isRequired={false} onChange={(value) => (setValues(value), setPreview(null))} />
      <div class="button-row">
        <Button kind="main" type="submit" disabled={name.trim() === ""}>
          Create fork
        </Button>
        <Button onClick={() => send(true)} disabled={name.trim() === ""}>
          Preview
        </Button>
      </div>
      <div role="status" class="stack">
        {error !== null && <ErrorNote error={error} />}
        {preview !== null && <p>{preview.next.length === 0 ? "Nothing would run: it ends there." : `These would run next: ${preview.next.join(", ")}.`} The thread {thread} stays as it is.</p>}
      </div>
    </form>
  );
}
