// One effect: its arguments, its result, its key and its times.

import type { EffectItem as Effect } from "../../fold/journal";
import { durationText } from "../../fold/time";
import { JsonBlock, TextBlock } from "../../parts/json_block";
import { Ago } from "../../parts/time";
import { Visible } from "../../parts/visible";

export function EffectItem({ effect }: { effect: Effect }) {
  const { key, place, error, startedAt, endedAt, result } = effect;
  return (
    <li class="journal-item stack">
      <p class="row">
        <span class="mark" data-kind={error !== null ? "bad" : endedAt === null ? "accent" : "good"}>
          {error !== null ? "effect failed" : "effect"}
        </span>
        <strong><Visible text={key} /></strong>
        {place !== null && <span class="soft">{place}</span>}
        {endedAt !== null && <span>{durationText(Date.parse(endedAt) - Date.parse(startedAt))}</span>}
        <span class="soft">
          <Ago at={startedAt} />
        </span>
      </p>
      <dl class="facts">
        <dt>Arguments</dt>
        <dd>
          <JsonBlock name={`Arguments of ${key}`} value={effect.arguments} />
        </dd>
        {result !== undefined && [
          <dt>Result</dt>,
          <dd>
            <JsonBlock name={`Result of ${key}`} value={result} />
          </dd>,
        ]}
        {error !== null && [
          <dt>Error</dt>,
          <dd>
            <TextBlock name={`Error of ${key}`} text={error} />
          </dd>,
        ]}
        <dt>Key</dt>
        <dd>
          <code>{effect.idempotencyKey}</code>
        </dd>
      </dl>
      {effect.runs.length > 1 && <Runs effect={effect} />}
    </li>
  );
}

function Runs({ effect: { runs } }: { effect: Effect }) {
  return (
    <ol class="effect-runs" role="list">
      {runs.map(({ attempt, end, started_at, ended_at }, at) => (
        <li class="row" key={at}>
          <span class="mark" data-kind={end === "done" || end === "found" ? "good" : "bad"}>
            {end}
          </span>
          <span>attempt {attempt}</span>
          {ended_at !== null && <span>{durationText(Date.parse(ended_at) - Date.parse(started_at))}</span>}
          <span class="soft">
            <Ago at={started_at} />
          </span>
        </li>
      ))}
    </ol>
  );
}
