// What a card tells the inbox: whether something was typed into it, that its answer was sent, and that it may go.

import type { InboxItem } from "../../api/types";

export interface CardWork {
  onTyped: (item: InboxItem, isTyped: boolean) => void;
  onSent: (item: InboxItem) => void;
  onDismiss: (item: InboxItem) => void;
}
