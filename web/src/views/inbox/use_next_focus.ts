// Where the focus goes when a card leaves after its answer: to the next card, or to the heading of the view. Knows no answer.

import { useEffect, useRef } from "preact/hooks";

import type { InboxItem } from "../../api/types";
import { groupItems, itemKey } from "../../fold/inbox";

/** The time in which a card leaves after its answer, in milliseconds; one that leaves later was answered by others. */
const SOON = 10_000;

/** Returns the function that notes a card as answered. */
export function useNextFocus(items: InboxItem[]): (item: InboxItem) => void {
  const keys = groupItems(items).flatMap((group) => group.items.map(itemKey));
  const sent = useRef<{ key: string; place: number; at: number } | null>(null);
  useEffect(() => {
    if (sent.current === null || keys.includes(sent.current.key)) return;
    const { place, at } = sent.current;
    sent.current = null;
    // Somebody who is elsewhere already stays there.
    const isLost = document.activeElement === null || document.activeElement === document.body;
    if (isLost && performance.now() - at < SOON) focusHeading(place);
  });
  return (item) => (sent.current = { key: itemKey(item), place: keys.indexOf(itemKey(item)), at: performance.now() });
}

/** Moves the focus to the heading of a card by its place; to that of the view after the last. */
function focusHeading(place: number): void {
  const next = document.querySelectorAll("main .question")[place];
  const heading = (next ?? document.querySelector("main"))?.querySelector<HTMLElement>(next === undefined ? "h1" : "h3");
  if (heading == null) return;
  heading.tabIndex = -1;
  heading.focus();
}
