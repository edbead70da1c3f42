// What a reader of the screen hears of an action whose place has left the page. Knows no view.

import { signal } from "@preact/signals";

/** The last text; the frame has it in a `status`. */
export const said = signal("");

/** Says a text, also the same again: its element is empty in between. */
export function say(text: string): void {
  said.value = "";
  setTimeout(() => (said.value = text), 50);
}
