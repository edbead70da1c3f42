// What cards and the view around them know of each other: what is being typed in, so that a card stays while its question is answered
// elsewhere.

import { useRef, useState } from "preact/hooks";

import type { InboxItem, InboxPage } from "../../api/types";
import { itemKey, withKept } from "../../fold/inbox";
import { say } from "../../live/say";
import type { CardWork } from "./card_work";
import { useNextFocus } from "./use_next_focus";

export interface Cards {
  items: InboxItem[];
  /** The keys of questions that are not open any more. */
  left: ReadonlySet<string>;
  work: CardWork;
}

export function useCardWork(page: InboxPage, reload: () => void): Cards {
  const typed = useRef(new Map<string, InboxItem>());
  const [, draw] = useState({});
  const shown = withKept(page, [...typed.current.values()]);
  const noteSent = useNextFocus(shown.items);
  const work: CardWork = {
    onTyped: (item, isTyped) => void (isTyped ? typed.current.set(itemKey(item), item) : typed.current.delete(itemKey(item))),
    onSent: (item) => {
      typed.current.delete(itemKey(item));
      say(item.kind === "question" ? `Answer to ${item.thread} sent` : `Request for ${item.thread} sent`);
      noteSent(item);
      reload();
    },
    onDismiss: (item) => (typed.current.delete(itemKey(item)), draw({})),
  };
  return { ...shown, work };
}
