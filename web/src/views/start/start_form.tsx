// The input of a run, checked here and by the server, whose problems come back to their fields; then a run now, or by a schedule.

import { useRef, useState } from "preact/hooks";

import { RequestError } from "../../api/source";
import type { Json, Schema } from "../../api/types";
import { problems as problemsOf, resolve, type FormProblem } from "../../fold/schema";
import { earlierInput, firstValue, freshName, hasForm, parseProblems, placeName, placeProblems, stillWrong } from "../../fold/start";
import { Button } from "../../parts/button";
import { ErrorNote } from "../../parts/notes";
import { Visible } from "../../parts/visible";
import { go, href } from "../../routing/navigation";
import { CronForm } from "./cron_form";
import { InputFields } from "./input_fields";
import { LimitsNote } from "./limits_note";
import { isThreadThere, startRun } from "./requests";
import { ThreadName } from "./thread_name";

interface StartFormProps {
  graph: string;
  assistant: string;
  schema: Schema | null;
  /** A thread, and its last input; null where that is not known. */
  from: string | undefined;
  earlier: Json;
  /** The thread on which the run starts; a new one if it is left out. */
  thread: string | undefined;
  onScheduled: () => void;
}

export function StartForm({ graph, assistant, schema, from, earlier, thread, onScheduled }: StartFormProps) {
  const form = useRef<HTMLFormElement>(null);
  const [filled] = useState(() => earlierInput(earlier, schema));
  const [value, setValue] = useState<Json | undefined>(() => firstValue(schema, filled));
  const [problems, setProblems] = useState<FormProblem[]>([]);
  const [others, setOthers] = useState<FormProblem[]>([]);
  const [error, setError] = useState<Error | null>(null);
  const [name, setName] = useState("");
  const [nameError, setNameError] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const [isScheduling, setScheduling] = useState(false);

  const change = (now: Json | undefined): void => {
    setProblems(stillWrong(problems, value, now));
    setOthers([]);
    setValue(now);
  };
  const showFirst = (): void => void requestAnimationFrame(() => form.current?.querySelector<HTMLElement>("input[aria-invalid=true], textarea[aria-invalid=true], select[aria-invalid=true]")?.focus());
  const refuse = (found: FormProblem[]): void => {
    const { placed, rest } = hasForm(schema) ? placeProblems(found, schema) : { placed: [], rest: found };
    setProblems(placed);
    setOthers(rest);
    showFirst();
  };
  /** Returns whether the input is as its schema wants it. */
  const isSound = (): boolean => {
    const misfit = form.current?.querySelector<HTMLElement>("[data-misfit]");
    misfit?.focus();
    if (misfit != null) return false;
    const found = hasForm(schema) ? problemsOf(value ?? {}, resolve(schema, schema), schema) : [];
    refuse(found);
    setError(null);
    return found.length === 0;
  };
  const explain = (cause: unknown): void => {
    const failure = cause instanceof Error ? cause : new Error(String(cause));
    const found = failure instanceof RequestError && failure.status === 422 ? parseProblems(failure.message) : [];
    if (found.length > 0) refuse(found);
    else setError(failure);
  };
  const start = async (): Promise<void> => {
    setNameError(null);
    if (!isSound()) return;
    setBusy(true);
    try {
      const own = name.trim();
      if (thread === undefined && own !== "" && (await isThreadThere(own))) setNameError("A thread has this name. Choose another.");
      else {
        const started = thread ?? (own === "" ? freshName(graph, crypto.getRandomValues(new Uint8Array(4))) : own);
        await startRun(started, assistant, value ?? {});
        return go({ view: "thread", thread: started });
      }
    } catch (cause) {
      explain(cause);
    }
    setBusy(false);
  };
  return (
    <form ref={form} class="card start-form stack" noValidate aria-label="Input" onSubmit={(event) => (event.preventDefault(), void start())}>
      {filled !== null && from !== undefined && (
        <p class="note">
          Filled in with the last input of <a href={href({ view: "thread", thread: from })}><Visible text={from} /></a>, without secrets.
        </p>
      )}
      <InputFields schema={schema} value={value} problems={problems} others={others} onChange={change} />
      {thread === undefined && <ThreadName graph={graph} name={name} error={nameError} onName={(words) => (setName(words), setNameError(null))} />}
      {hasForm(schema) && <LimitsNote schema={schema} value={value} />}
      {others.length > 0 && (
        <ul class="note field-error start-others" data-kind="bad" role="alert">
          {others.map(({ path, text }) => (
            <li>
              {placeName(path)} {text}
            </li>
          ))}
        </ul>
      )}
      {error !== null && <ErrorNote error={error} />}
      <div class="button-row">
        <Button kind="main" type="submit" disabled={isBusy}>
          Start
        </Button>
        {thread === undefined && (
          <Button kind="quiet" aria-expanded={isScheduling} onClick={() => setScheduling(!isScheduling)}>
            Run by a schedule
          </Button>
        )}
      </div>
      {isScheduling && <CronForm assistant={assistant} input={value ?? {}} isSound={isSound} onError={explain} onCreated={onScheduled} />}
    </form>
  );
}
