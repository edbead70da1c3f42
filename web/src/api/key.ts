// The key that the server wants, if it wants one: in memory, and on request in the session of the tab. Knows no request.

import { signal } from "@preact/signals";

const NAME = "superstep-key";

/** The key; null if none was typed in. */
export const key = signal(sessionStorage.getItem(NAME));

/** Set if the server has refused a request because of its key, or for want of one. */
export const isKeyWanted = signal(false);

/** Uses a key from now on, and keeps it in the session if `isKept`. */
export function useKey(text: string, isKept: boolean): void {
  key.value = text === "" ? null : text;
  isKeyWanted.value = false;
  if (isKept && key.value !== null) sessionStorage.setItem(NAME, key.value);
  else sessionStorage.removeItem(NAME);
}

/** Returns whether the key is kept in the session. */
export function isKeyKept(): boolean {
  return sessionStorage.getItem(NAME) !== null;
}
