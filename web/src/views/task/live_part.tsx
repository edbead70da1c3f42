// What a task does at the moment: messages as they are written, the steps of its agent, what it emits.

import type { TaskDetail } from "../../api/run_types";
import { JsonBlock, TextBlock } from "../../parts/json_block";
import { Visible } from "../../parts/visible";
import { TurnSteps } from "./turn_item";
import { useLive } from "./use_live";

interface LiveProps {
  thread: string;
  task: TaskDetail;
  isRunning: boolean;
  within: string[];
  /** Set if other tasks run beside it: what is emitted does not say by which. */
  hasOthers: boolean;
}

/** Emitted values that are shown, and characters of a message. */
const [VALUES, LAST] = [20, 4000];

export function LivePart({ thread, task, isRunning, within, hasOthers }: LiveProps) {
  const path = task.path ?? [task.node];
  const namespace = within.map((key, at) => `${path[at] ?? ""}:${key.split(":")[1] ?? ""}`);
  const since = task.started_at == null ? 0 : Date.parse(task.started_at);
  const live = useLive(thread, isRunning, namespace, since);
  const messages = live.messages.filter(({ node }) => node === null || node === task.node);
  if (!isRunning || (messages.length === 0 && live.turns.length === 0 && live.values.length === 0)) return null;
  return (
    <section class="stack task-live" aria-label="Happens now">
      <h2>{hasOthers ? "Happens now, in all tasks that run" : "Happens now"}</h2>
      {messages.map(({ id, text, isOver }) => (
        <div class="live-message" data-over={isOver ? "" : undefined} key={id}>
          <Visible text={text.length > LAST ? `…${text.slice(-LAST)}` : text} />
        </div>
      ))}
      {live.turns.slice(-1).map((turn, at) => (
        <div class="stack" key={at}>
          <details>
            <summary>Prompt as sent</summary>
            <TextBlock name="Prompt" text={turn.prompt} />
          </details>
          <TurnSteps steps={turn.steps} />
        </div>
      ))}
      {live.values.slice(-VALUES).map(({ at, value }, nth) => (
        <JsonBlock name="Emitted value" key={`${at} ${nth}`} value={value} />
      ))}
    </section>
  );
}
