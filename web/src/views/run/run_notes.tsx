// What a run says of itself: why it failed or waits, what runs at the moment, and its open questions.

import { useState } from "preact/hooks";

import type { RunStatus, RunningTask } from "../../api/run_types";
import type { InboxItem } from "../../api/types";
import { groupItems } from "../../fold/inbox";
import { costOf, tokensOf, tokensText } from "../../fold/journal";
import { Button } from "../../parts/button";
import { Ago } from "../../parts/time";
import { Visible } from "../../parts/visible";
import { GroupCard } from "../inbox/group_card";
import { useCardWork } from "../inbox/use_card_work";
import "../inbox/inbox.css";

export function RunNotes({ status }: { status: RunStatus }) {
  const { reason, help, advice = [], signals = [] } = status;
  // The graph shows which nodes run; here is what is known beyond that.
  const running = (status.running ?? []).filter(({ label, action, tokens }) => label != null || action !== undefined || tokens != null);
  return (
    <>
      {reason != null && (
        <div class="note stack" data-kind={status.status === "failed" ? "bad" : "warn"}>
          <pre class="run-reason"><Visible text={reason} /></pre>
          {help != null && <p class="soft">{help}</p>}
          {advice.map(({ text, command }) => (
            <p class="soft" key={command}>
              {text} <code>{command}</code>
            </p>
          ))}
        </div>
      )}
      {signals.map(({ name, node }) => (
        <p class="note" data-kind="warn" key={`${node} ${name}`}>
          {node} waits for the signal <code>{name}</code>.
        </p>
      ))}
      {running.length > 0 && (
        <section class="stack" aria-label="Running now">
          <ul class="run-running" role="list">
            {running.slice(0, 50).map((task, at) => (
              <Running key={`${task.node} ${at}`} task={task} />
            ))}
          </ul>
          {running.length > 50 && <p class="soft">and {running.length - 50} more</p>}
        </section>
      )}
    </>
  );
}

function Running({ task: { node, label, action, started_at, ...task } }: { task: RunningTask }) {
  const [tokens, cost] = [tokensOf(task.tokens), costOf(task.cost)];
  return (
    <li class="row">
      <span class="mark" data-kind="accent">
        running
      </span>
      <strong><Visible text={node} /></strong>
      {label != null && <span><Visible text={label} /></span>}
      {action !== undefined && <span class="soft run-action"><Visible text={action} /></span>}
      {tokens !== null && tokens > 0 && <span class="soft">{tokensText(tokens)} tokens</span>}
      {cost !== null && <span class="soft">{cost}</span>}
      {started_at !== undefined && (
        <span class="soft">
          <Ago at={started_at} />
        </span>
      )}
    </li>
  );
}

/** Questions that are shown at a time. */
const CARDS = 30;

/** The questions of the run, as the inbox shows them. */
export function RunQuestions({ items, onAnswered }: { items: InboxItem[]; onAnswered: () => void }) {
  const [count, setCount] = useState(CARDS);
  const open = items.filter(({ kind }) => kind === "question" || kind === "untrusted");
  const cards = useCardWork({ items: open, next: null, waiting: open.length }, onAnswered);
  const shown = cards.items.slice(0, count);
  if (cards.items.length === 0) return null;
  return (
    <section class="stack run-questions" aria-label="Waits for a person">
      {groupItems(shown).map((group) => (
        <GroupCard key={group.thread} group={group} left={cards.left} work={cards.work} />
      ))}
      {shown.length < cards.items.length && <Button onClick={() => setCount(count + CARDS)}>{`Show more of ${cards.items.length.toLocaleString("en")} questions`}</Button>}
    </section>
  );
}
