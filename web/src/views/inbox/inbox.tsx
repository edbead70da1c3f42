// What waits for a person, oldest first.

import { useEffect, useRef, useState } from "preact/hooks";

import { loadInbox } from "../../api/inbox";
import { useResource } from "../../api/resource";
import type { InboxPage } from "../../api/types";
import { groupItems } from "../../fold/inbox";
import { whileVisible } from "../../live/look";
import { Button } from "../../parts/button";
import { Empty, ErrorNote, Loading } from "../../parts/notes";
import { href } from "../../routing/navigation";
import { GroupCard, prepareCards } from "./group_card";
import { useCardWork } from "./use_card_work";
import "./inbox.css";

/** Items of a page. */
const PAGE = 50;
const NOTHING: InboxPage = { items: [], next: null, waiting: 0 };

export function Inbox() {
  const [pages, setPages] = useState(1);
  const inbox = useResource(`inbox ${pages}`, (signal) => loadInbox(`/inbox?limit=${PAGE}`, pages, signal), { changes: ({ kind }) => kind !== "position" });
  const { error, reload } = inbox;
  useEffect(prepareCards, []);
  // A run that nothing runs has no event.
  useEffect(() => whileVisible(reload), []);
  // While more pages are read, those that are there stay, with what was typed into them.
  const known = useRef<InboxPage | undefined>(undefined);
  known.current = inbox.value ?? known.current;
  const value = known.current;
  const { items, left, work } = useCardWork(value ?? NOTHING, reload);
  return (
    <div class="inbox stack">
      <header class="row">
        <h1>Inbox</h1>
        {value !== undefined && value.waiting > 0 && <span class="soft">{waitingText(value.waiting)}</span>}
      </header>
      {error !== undefined && <ErrorNote error={error} onRetry={reload} />}
      {value === undefined && error === undefined && <Loading what="what waits" />}
      {value !== undefined && items.length === 0 && <NothingWaits />}
      {groupItems(items).map((group) => (
        <GroupCard key={group.thread} group={group} left={left} work={work} />
      ))}
      {value?.next != null && <Button onClick={() => setPages(pages + 1)}>Show more</Button>}
    </div>
  );
}

function waitingText(waiting: number): string {
  return waiting === 1 ? "1 thing waits for a person" : `${waiting} things wait for a person`;
}

function NothingWaits() {
  return (
    <Empty title="Nothing waits for you">
      <p>A question of a run comes here at once, with what is needed to answer it.</p>
      <p>
        <a href={href({ view: "start" })}>Start a run</a> or look at <a href={href({ view: "threads", search: "" })}>the threads</a>.
      </p>
    </Empty>
  );
}
