// A plan that is edited as an answer: its text, what the program says to it, how it will look, and what was changed.

import { createTwoFilesPatch } from "diff";
import { useEffect, useId, useState } from "preact/hooks";

import { checkAnswer } from "../../api/answers";
import type { Checked, InboxItem } from "../../api/types";
import type { Action } from "../../fold/actions";
import { draftAnswer, draftLabel } from "../../fold/draft_field";
import { planOf } from "../../fold/plan";
import { TextDiff } from "../../parts/diff_view";
import { PlanTasks, Remarks } from "../../parts/plan_view";
import { LongMarkdown } from "../../parts/long_text";

interface PlanEditorProps {
  item: InboxItem;
  action: Action;
  /** The plan as the question has it. */
  before: string;
  text: string;
  onChange: (text: string) => void;
}

/** The time after the last key until the text is checked and shown, in milliseconds. */
const PAUSE = 400;
/** The time that the comparison may take. */
const COMPARE = 60;

export function PlanEditor({ item, action, before, text, onChange }: PlanEditorProps) {
  const id = useId();
  const settled = usePause(text);
  const checked = useCheck(item, action, settled);
  const [side, setSide] = useState<"preview" | "changes">("preview");
  return (
    <div class="plan-editor stack">
      <div class="plan-panes">
        <div class="field">
          <label class="field-label" for={id}>
            {draftLabel(action)}
          </label>
          <textarea id={id} class="plan-input" value={text} rows={Math.min(Math.max(text.split("\n").length + 1, 12), 32)} spellcheck={false} aria-describedby={`${id}-status`} onInput={(event) => onChange(event.currentTarget.value)} />
        </div>
        <div class="stack plan-side">
          <div class="choice">
            <button type="button" aria-pressed={side === "preview"} onClick={() => setSide("preview")}>
              Preview
            </button>
            <button type="button" aria-pressed={side === "changes"} onClick={() => setSide("changes")}>
              Your changes
            </button>
          </div>
          {side === "preview" ? <Preview text={settled} /> : <Changes before={before} now={settled} />}
        </div>
      </div>
      <div id={`${id}-status`} role="status" class="plan-status stack">
        <Verdict checked={checked} isTyping={settled !== text} isChanged={settled !== before} />
      </div>
    </div>
  );
}

function Preview({ text }: { text: string }) {
  const plan = planOf(text);
  return (
    <div class="stack">
      {plan.tasks.some(({ commands }) => commands.length > 0) && <p class="plan-allows">If you approve it, the commands of this plan run in a shell.</p>}
      <PlanTasks plan={plan} />
      <LongMarkdown text={text} label="the preview" />
    </div>
  );
}

function Changes({ before, now }: { before: string; now: string }) {
  if (before === now) return <p class="soft">Nothing was changed yet.</p>;
  const patch = createTwoFilesPatch("the plan", "your plan", lined(before), lined(now), undefined, undefined, { timeout: COMPARE });
  return patch === undefined ? <p class="soft">The two texts differ too much to compare them here.</p> : <TextDiff diff={patch} label="Your changes" />;
}

function Verdict({ checked, isTyping, isChanged }: { checked: Checked | Error | null; isTyping: boolean; isChanged: boolean }) {
  if (isTyping || checked === null) return <p class="soft">{isTyping ? "Typing…" : "Checking…"}</p>;
  if (checked instanceof Error) return <p class="field-error">It could not be checked: {checked.message}</p>;
  const { problems, remarks } = checked;
  if (problems.length + remarks.length === 0) return <p class="soft">{isChanged ? "The plan is fine." : "The plan is fine as it is."}</p>;
  return (
    <>
      <Remarks kind="bad" title="It would be refused" list={problems.map(({ text }) => text)} />
      <Remarks kind="warn" title="Remarks" list={remarks.map(({ text }) => text)} />
    </>
  );
}

/** Returns what the program says to a plan; null until it has answered. */
function useCheck(item: InboxItem, action: Action, text: string): Checked | Error | null {
  const [checked, setChecked] = useState<{ text: string; result: Checked | Error } | null>(null);
  useEffect(() => {
    const stop = new AbortController();
    checkAnswer(item, draftAnswer(action, text), stop.signal)
      .catch((cause: unknown) => (cause instanceof Error ? cause : new Error(String(cause))))
      .then((result) => stop.signal.aborted || setChecked({ text, result }));
    return () => stop.abort();
  }, [text, item.thread, item.question?.id]);
  return checked?.text === text ? checked.result : null;
}

function usePause(text: string): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), PAUSE);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}

/** A text whose last line has an end, as the comparison would mention it otherwise. */
function lined(text: string): string {
  return text.endsWith("\n") ? text : `${text}\n`;
}
