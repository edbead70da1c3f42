// What cards and the view around them know of each other: what is being typed in, so that a card stays while its question is answered
// elsewhere.

import { useRef, useState } from "preact/hooks";

import type { InboxItem, InboxPage } from "../../api/types";
import { itemKey, withKept } from "../../fold/inbox";
import type { CardWork } from "./card_work";

export interface Cards {
  items: InboxItem[];
  /** The keys of questions that are not open any more. */
  left: ReadonlySet<string>;
  work: CardWork;
}

export function useCardWork(page: InboxPage, reload: () => void): Cards {
  const typed = useRef(new Map<string, InboxItem>());
  const [, draw] = useState({});
  const work: CardWork = {
    onTyped: (item, isTyped) => void (isTyped ? typed.current.set(itemKey(item), item) : typed.current.delete(itemKey(item))),
    onSent: (item) => (typed.current.delete(itemKey(item)), reload()),
    onDismiss: (item) => (typed.current.delete(itemKey(item)), draw({})),
  };
  return { ...withKept(page, [...typed.current.values()]), work };
}
