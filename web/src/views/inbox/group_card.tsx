// All that waits in one thread.

import type { InboxItem } from "../../api/types";
import { itemKey, type Group } from "../../fold/inbox";
import { Ago } from "../../parts/time";
import { href } from "../../routing/navigation";
import { NoticeCard } from "./notice_card";
import { QuestionCard } from "./question_card";

export function GroupCard({ group, onAnswered }: { group: Group; onAnswered: () => void }) {
  const id = `thread-${encodeURIComponent(group.thread)}`;
  return (
    <article class="card inbox-group stack" aria-labelledby={id}>
      <header class="row">
        <h2 class="inbox-thread" id={id}>
          <a href={href({ view: "thread", thread: group.thread })}>{group.thread}</a>
        </h2>
        <span class="mark">{group.graph}</span>
        <span class="soft">
          <Ago at={group.since} />
        </span>
      </header>
      {group.title !== null && <p class="soft">{group.title}</p>}
      {group.items.map((item) => (
        <Item key={itemKey(item)} item={item} onAnswered={onAnswered} />
      ))}
    </article>
  );
}

function Item({ item, onAnswered }: { item: InboxItem; onAnswered: () => void }) {
  return item.question == null ? <NoticeCard item={item} onDone={onAnswered} /> : <QuestionCard item={item} ask={item.question} onAnswered={onAnswered} />;
}
