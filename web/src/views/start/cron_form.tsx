// A schedule for the input of the form above: what it means in words, and the date that the server has found for it.

import { useId, useState } from "preact/hooks";

import { RequestError } from "../../api/source";
import type { Cron, Json } from "../../api/types";
import { scheduleText } from "../../fold/start";
import { Button } from "../../parts/button";
import { createCron, type Schedule } from "./requests";
import { NextRun } from "./next_run";

interface CronFormProps {
  assistant: string;
  input: Json;
  isSound: () => boolean;
  onError: (cause: unknown) => void;
  onCreated: (cron: Cron) => void;
}

const HERE = Intl.DateTimeFormat().resolvedOptions().timeZone;

export function CronForm({ assistant, input, isSound, onError, onCreated }: CronFormProps) {
  const [cron, setCron] = useState<Schedule>({ schedule: "0 9 * * 1-5", timezone: HERE, keepsThreads: true });
  const [problem, setProblem] = useState<string | null>(null);
  const [made, setMade] = useState<Cron | null>(null);
  const id = useId();
  const change = (part: Partial<Schedule>): void => (setCron({ ...cron, ...part }), setProblem(null), setMade(null));
  const create = async (): Promise<void> => {
    if (!isSound()) return;
    try {
      const created = await createCron(assistant, input, cron);
      setMade(created);
      onCreated(created);
    } catch (cause) {
      if (cause instanceof RequestError && cause.status === 422 && /schedule|time ?zone/i.test(cause.message)) setProblem(cause.message);
      else onError(cause);
    }
  };
  return (
    <fieldset class="form-group stack">
      <legend class="field-label">Schedule</legend>
      <div class="field">
        <label class="field-label" for={id}>
          When
        </label>
        <span class="field-about" id={`${id}-about`}>
          Minute, hour, day of the month, month, day of the week. {scheduleText(cron.schedule) !== null && <strong>This is {scheduleText(cron.schedule)}.</strong>}
        </span>
        <input id={id} class="start-schedule" value={cron.schedule} autocomplete="off" spellcheck={false} aria-invalid={problem !== null} aria-describedby={`${id}-about ${id}-error`} onInput={(event) => change({ schedule: event.currentTarget.value })} />
        <span class="field-error" id={`${id}-error`}>
          {problem ?? ""}
        </span>
      </div>
      <label class="field">
        <span class="field-label">Time zone</span>
        <input value={cron.timezone} autocomplete="off" spellcheck={false} placeholder="UTC" onInput={(event) => change({ timezone: event.currentTarget.value.trim() })} />
      </label>
      <label class="field-check">
        <input type="checkbox" checked={cron.keepsThreads} onChange={(event) => change({ keepsThreads: event.currentTarget.checked })} />
        Keep the threads of its runs
      </label>
      <div class="row">
        <Button onClick={() => void create()}>Create schedule</Button>
        <span role="status">{made !== null && <>It is created. <NextRun cron={made} /></>}</span>
      </div>
    </fieldset>
  );
}
