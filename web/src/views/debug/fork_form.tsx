// A branch of a run as a thread of its own, with other values if wanted, and what would run in it.

import { useMemo, useRef, useState } from "preact/hooks";

import type { ForkResult } from "../../api/debug_types";
import { loadChannelNames } from "../../api/run";
import { request } from "../../api/source";
import type { Json, JsonObject } from "../../api/types";
import { overwrites, valuesProblem } from "../../fold/fork";
import { Button } from "../../parts/button";
import { JsonField } from "../../parts/json_field";
import { ErrorNote } from "../../parts/notes";
import { go } from "../../routing/navigation";

interface ForkProps {
  thread: string;
  graph: string | undefined;
  checkpoint: string;
}

export function ForkForm({ thread, graph, checkpoint }: ForkProps) {
  const form = useRef<HTMLFormElement>(null);
  const [name, setName] = useState(`${thread}-fork`);
  const [values, setValues] = useState<Json | undefined>(undefined);
  const [problem, setProblem] = useState<string | null>(null);
  const [preview, setPreview] = useState<ForkResult | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const channels = useMemo(() => loadChannelNames(thread, checkpoint, graph).catch(() => null), [thread, checkpoint]);
  const change = (now: Json | undefined): void => {
    setValues(now);
    setProblem(null);
    setPreview(null);
  };
  /** Returns whether the state can be sent; its box has the focus if not. */
  const isSound = async (): Promise<boolean> => {
    const box = form.current?.querySelector<HTMLElement>(".field-json");
    const found = valuesProblem(values, values === undefined ? null : await channels);
    setProblem(found);
    const isRefused = found !== null || box?.matches("[data-misfit]") === true;
    if (isRefused) box?.focus();
    return !isRefused;
  };
  const send = async (isPreview: boolean): Promise<void> => {
    setError(null);
    setPreview(null);
    if (!(await isSound())) return;
    const body = { checkpoint: Number(checkpoint), thread: name, preview: isPreview, ...(values === undefined ? {} : { values: overwrites(values as JsonObject) }) };
    await request<ForkResult>(`/threads/${encodeURIComponent(thread)}/fork`, { method: "POST", body }).then(
      (made) => (isPreview ? setPreview(made) : go({ view: "thread", thread: made.thread })),
      (cause: Error) => setError(cause),
    );
  };
  return (
    <form ref={form} class="card stack" onSubmit={(event) => (event.preventDefault(), void send(false))}>
      <h3>Fork at checkpoint {checkpoint}</h3>
      <label class="field">
        <span class="field-label">Name</span>
        <input value={name} onInput={(event) => setName(event.currentTarget.value)} />
      </label>
      <JsonField label="State" about="Channels that get other values, as a JSON object; the others stay." value={values} error={problem} isRequired={false} onChange={change} />
      <div class="button-row">
        <Button kind="main" type="submit" disabled={name.trim() === ""}>
          Create fork
        </Button>
        <Button onClick={() => void send(true)} disabled={name.trim() === ""}>
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
