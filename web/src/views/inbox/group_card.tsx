// All that waits in one thread.

import { isRecording } from "../../api/recording";
import type { InboxItem } from "../../api/types";
import { itemKey, type Group } from "../../fold/inbox";
import { lazyView } from "../../parts/lazy_view";
import { Ago } from "../../parts/time";
import { Visible } from "../../parts/visible";
import { href } from "../../routing/navigation";
import type { CardWork } from "./card_work";
import { NoticeCard } from "./notice_card";

// What a question needs is more than the rest of the page: plans, diffs, forms.
const loadCard = async () => (await import("./question_card")).QuestionCard;
const QuestionCard = lazyView("the question", loadCard);
const QuestionRead = lazyView("the question", async () => (await import("./question_read")).QuestionRead);

/** Loads what questions need before there is one. */
export function prepareCards(): void {
  (window.requestIdleCallback ?? setTimeout)(() => void loadCard().catch(() => undefined));
}

interface GroupProps {
  group: Group;
  /** The keys of questions that are not open any more. */
  left: ReadonlySet<string>;
  work: CardWork;
}

export function GroupCard({ group, left, work }: GroupProps) {
  return (
    <article class="card inbox-group stack" aria-label={group.thread}>
      <header class="row">
        <h2 class="inbox-thread">
          <a class="lone-link" href={href({ view: "thread", thread: group.thread })}><Visible text={group.thread} /></a>
        </h2>
        <span class="mark"><Visible text={group.graph} /></span>
        <span class="soft">
          <Ago at={group.since} />
        </span>
      </header>
      {group.title !== null && <p class="soft inbox-title"><Visible text={group.title} /></p>}
      {group.items.map((item) => (
        <Item key={itemKey(item)} item={item} hasLeft={left.has(itemKey(item))} work={work} />
      ))}
    </article>
  );
}

function Item({ item, hasLeft, work }: { item: InboxItem; hasLeft: boolean; work: CardWork }) {
  if (item.question != null && isRecording()) return <QuestionRead item={item} ask={item.question} />;
  if (item.question == null) return <NoticeCard item={item} onDone={() => work.onSent(item)} />;
  return <QuestionCard item={item} ask={item.question} hasLeft={hasLeft} work={work} />;
}
