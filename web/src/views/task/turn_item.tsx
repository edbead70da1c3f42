// A turn of an agent: the prompt as it was sent, its words and its calls of tools in order, its end with tokens and cost.

import { useState } from "preact/hooks";

import { usedText, type EffectItem, type Turn, type TurnStep, type Usage } from "../../fold/journal";
import { durationText } from "../../fold/time";
import { Button } from "../../parts/button";
import { JsonBlock, TextBlock } from "../../parts/json_block";
import { Ago } from "../../parts/time";
import { Visible } from "../../parts/visible";

/** Steps that are shown at first. */
const STEPS = 60;

export function TurnItem({ turn, at, effect }: { turn: Turn; at: string; effect: EffectItem | null }) {
  const failed = effect !== null && effect.error !== null && turn.status === null;
  return (
    <li class="journal-item stack">
      <p class="row">
        <span class="mark" data-kind={failed ? "bad" : turn.status === null ? "accent" : turn.status === "done" ? "good" : "warn"}>
          {failed ? "failed" : turn.status === null ? "in work" : turn.status.replaceAll("_", " ")}
        </span>
        <strong><Visible text={turn.role} /></strong>
        <span class="soft">{[turn.driver, turn.model].filter((name) => name !== null && name !== "").join(", ")}</span>
        {turn.about !== null && <span><Visible text={turn.about} /></span>}
        {turn.usage !== null && <UsageText usage={turn.usage} />}
        {effect !== null && effect.endedAt !== null && <span>{durationText(Date.parse(effect.endedAt) - Date.parse(at))}</span>}
        <span class="soft">
          <Ago at={at} />
        </span>
      </p>
      {turn.system !== null && (
        <details>
          <summary>System prompt</summary>
          <TextBlock name="System prompt" text={turn.system} />
        </details>
      )}
      <details open={turn.steps.length === 0}>
        <summary>Prompt as sent</summary>
        <TextBlock name="Prompt" text={turn.prompt} />
      </details>
      <TurnSteps steps={turn.steps} />
      {effect !== null && effect.error !== null && <TextBlock name="Error" text={effect.error} />}
      {turn.text !== null && turn.text !== "" && (
        <div class="turn-end">
          <TextBlock name="Last message" text={turn.text} />
        </div>
      )}
      {turn.submitted !== null && (
        <details>
          <summary>Submitted</summary>
          <JsonBlock name="Submitted" value={turn.submitted} />
        </details>
      )}
    </li>
  );
}

export function TurnSteps({ steps }: { steps: TurnStep[] }) {
  const [isWhole, setWhole] = useState(false);
  if (steps.length === 0) return null;
  const hidden = isWhole ? 0 : Math.max(steps.length - STEPS, 0);
  return (
    <>
      {hidden > 0 && <Button onClick={() => setWhole(true)}>{`Show ${hidden} earlier steps`}</Button>}
      <ol class="turn-steps" role="list" aria-label="Messages and tool calls">
        {steps.slice(hidden).map((step, at) => (
          <Step key={hidden + at} step={step} />
        ))}
      </ol>
    </>
  );
}

function Step({ step }: { step: TurnStep }) {
  switch (step.kind) {
    case "text":
      return (
        <li class="turn-step" data-thinking={step.isThinking ? "" : undefined}>
          {step.isThinking && <span class="soft">thinks</span>}
          <TextBlock name={step.isThinking ? "Reasoning" : "Message"} text={step.text} />
        </li>
      );
    case "notice":
      return <li class="turn-step soft"><Visible text={step.text} /></li>;
    case "call":
      return (
        <li class="turn-step stack">
          <p class="row">
            <span class="mark" data-kind={step.result === null ? "accent" : step.result.isOk ? "good" : "bad"}>
              {step.result === null ? "calls" : step.result.isOk ? "called" : "call failed"}
            </span>
            <strong><Visible text={step.name} /></strong>
            <span class="soft">
              <Ago at={step.at} />
            </span>
          </p>
          <JsonBlock name={`Arguments of ${step.name}`} value={step.arguments} />
          {step.result !== null && step.result.text !== "" && <TextBlock name={`Result of ${step.name}`} text={step.result.text} />}
        </li>
      );
  }
}

function UsageText({ usage }: { usage: Usage }) {
  const title = `${usage.input} read, ${usage.cached} from or to a cache, ${usage.output} written, ${usage.requests} requests`;
  return (
    <span title={title}>
      {usedText(usage)}
      {usage.isEstimated ? " (estimated)" : ""}
    </span>
  );
}
