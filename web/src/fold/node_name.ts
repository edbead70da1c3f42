// The name of a node as it is drawn: cut where it is long, and about how wide it is. Knows no layout.

import { withoutTurns } from "./hidden";

/** A name is cut after this many characters. */
const NAME_LIMIT = 26;

/** Returns about how wide a name is, in any of the usual faces. */
export function textWidth(text: string): number {
  return [...text].reduce((sum, letter) => sum + (/[mwMW@%…]/.test(letter) ? 12 : /[iIjlftr1.,:;'| ]/.test(letter) ? 5 : /[A-Z_]/.test(letter) ? 9.5 : 8.2), 0);
}

/** Returns a name as it is drawn. */
export function cut(whole: string): string {
  const name = withoutTurns(whole);
  return name.length <= NAME_LIMIT ? name : `${name.slice(0, NAME_LIMIT - 1)}…`;
}
