// The journal of a task in the order in which it was made.

import { useMemo, useState } from "preact/hooks";

import type { Journal } from "../../api/run_types";
import { readJournal, type JournalItem } from "../../fold/journal";
import { nameTitle } from "../../fold/inbox";
import { Button } from "../../parts/button";
import { JsonBlock } from "../../parts/json_block";
import { Ago } from "../../parts/time";
import { Visible } from "../../parts/visible";
import { EffectItem } from "./effect_item";
import { TurnItem } from "./turn_item";

/** Items that are added at a time: of a long journal the first ones are shown. */
const PAGE = 100;

export function JournalList({ journal, isRunning }: { journal: Journal | null; isRunning: boolean }) {
  const items = useMemo(() => (journal === null ? [] : readJournal(journal)), [journal]);
  const [count, setCount] = useState(PAGE);
  if (items.length === 0) return isRunning ? null : <p class="soft">It has recorded no effects, values, messages or questions.</p>;
  // Of a task that runs the newest ones matter.
  const shown = isRunning ? items.slice(-count) : items.slice(0, count);
  const more = items.length > count && <Button onClick={() => setCount(count + PAGE)}>{`Show more of ${items.length}`}</Button>;
  return (
    <section class="stack">
      <header class="row">
        <h2>Journal</h2>
        <span class="soft">{items.length === 1 ? "1 entry" : `${items.length} entries`}</span>
      </header>
      {isRunning && more}
      <ol class="journal" role="list" aria-label="Journal">
        {shown.map((item, at) => (
          <Item key={`${item.kind} ${item.at} ${at}`} item={item} />
        ))}
      </ol>
      {!isRunning && more}
    </section>
  );
}

function Item({ item }: { item: JournalItem }) {
  switch (item.kind) {
    case "effect":
      return <EffectItem effect={item.effect} />;
    case "turn":
      return <TurnItem turn={item.turn} at={item.at} effect={item.effect} />;
    case "question":
      return <QuestionItem item={item} />;
    case "message":
      return (
        <li class="journal-item stack">
          <p class="row">
            <span class="mark">message</span>
            {item.from !== null && <code><Visible text={item.from} /></code>}
            <span class="soft">
              <Ago at={item.at} />
            </span>
          </p>
          <JsonBlock name="Message" value={item.value} />
        </li>
      );
    case "value":
      return (
        <li class="journal-item row">
          <span class="mark">{item.what === "value" ? "recorded" : item.what}</span>
          <strong><Visible text={item.key} /></strong>
          <JsonBlock name={`Value of ${item.key}`} value={item.value} />
          <span class="soft">
            <Ago at={item.at} />
          </span>
        </li>
      );
  }
}

function QuestionItem({ item: { question } }: { item: JournalItem & { kind: "question" } }) {
  const { answer, name, node, payload } = question;
  return (
    <li class="journal-item stack">
      <p class="row">
        <span class="mark" data-kind={answer === null ? "warn" : "good"}>
          {answer === null ? "asks" : "asked"}
        </span>
        <strong><Visible text={nameTitle(name)} /></strong>
        <code><Visible text={node} /></code>
      </p>
      <JsonBlock name={`Question ${name}`} value={payload} />
      {answer !== null && (
        <>
          <p class="row">
            <span class="soft">answered by</span> <Visible text={answer.by ?? "somebody"} />
            <span class="soft">
              <Ago at={answer.at} />
            </span>
          </p>
          <JsonBlock name={`Answer to ${name}`} value={answer.value} />
          {answer.note !== null && <p><Visible text={answer.note} /></p>}
        </>
      )}
    </li>
  );
}
