// A branch of a run as a thread of its own, with other values if wanted, and what would run in it.

import { useMemo, useRef, useState } from "preact/hooks";

import type { ForkResult } from "../../api/debug_types";
import { loadChannelNames, loadChannels } from "../../api/run";
import { request } from "../../api/source";
import type { Json, JsonObject } from "../../api/types";
import { nodeText, overwrites, valuesProblem, type Again } from "../../fold/fork";
import { isObject } from "../../fold/schema";
import { Button } from "../../parts/button";
import { JsonField } from "../../parts/json_field";
import { ErrorNote } from "../../parts/notes";
import { go } from "../../routing/navigation";
import { AgainNote } from "./again_note";
import { ChannelPicker } from "./channel_picker";

interface ForkProps {
  thread: string;
  graph: string | undefined;
  checkpoint: string;
  again: Again;
}

export function ForkForm({ thread, graph, checkpoint, again }: ForkProps) {
  const form = useRef<HTMLFormElement>(null);
  const [name, setName] = useState(`${thread}-fork`);
  const [values, setValues] = useState<Json | undefined>(undefined);
  /** The number of values that were put into the box, which is made anew for each. */
  const [puts, setPuts] = useState(0);
  const [problem, setProblem] = useState<string | null>(null);
  const [preview, setPreview] = useState<ForkResult | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const channels = useMemo(() => loadChannelNames(thread, checkpoint, graph).catch(() => null), [thread, checkpoint]);
  const change = (now: Json | undefined): void => {
    setValues(now);
    setProblem(null);
    setPreview(null);
  };
  /** Puts the present value of a channel into the box, unless that has a slip in it. */
  const put = async (channel: string): Promise<void> => {
    if (channel === "" || !(await isSound())) return;
    const present = await loadChannels(thread, checkpoint, [channel]).catch((cause: Error) => setError(cause));
    if (present === undefined) return;
    setValues((now) => ({ ...(isObject(now) ? now : {}), [channel]: present[channel] ?? null }));
    setPuts((count) => count + 1);
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
    <form ref={form} class="card fork-form stack" onSubmit={(event) => (event.preventDefault(), void send(false))}>
      <h3>Fork at checkpoint {checkpoint}</h3>
      <label class="field">
        <span class="field-label">Name</span>
        <input value={name} onInput={(event) => setName(event.currentTarget.value)} />
      </label>
      <ChannelPicker channels={channels} onChoose={(channel) => void put(channel)} />
      <JsonField key={puts} label="State" about="What channels have in the fork, as a JSON object; the others stay as they are." value={values} error={problem} isRequired={false} onChange={change} />
      <AgainNote again={again} />
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
        {preview !== null && <p>{preview.next.length === 0 ? "Nothing would run: it ends there." : `These would run next: ${nextText(preview.next)}.`} The thread {thread} stays as it is.</p>}
      </div>
    </form>
  );
}

function nextText(next: string[]): string {
  return [...new Set(next)].map((name) => nodeText({ name, tasks: next.filter((one) => one === name).length, effects: 0 })).join(", ");
}
