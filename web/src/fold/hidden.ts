// Characters that a person does not see, but that change what is read or run: marks of direction, of no width, and controls. Knows no DOM.

export interface Piece {
  text: string;
  /** Set for a character that is named instead of shown: `U+202E`. */
  isHidden: boolean;
}

/** Those that change the order of what is around them, wherever they are. */
const TURNING = /[\u202a-\u202e\u2066-\u2069]/;
// eslint-disable-next-line no-control-regex
const HIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u180e\u200b-\u200f\u202a-\u202e\u2028\u2029\u2060-\u2069\u3164\ufeff\uffa0\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;
/** Joiners of letters and of pictures, which belong to their text. */
const JOINERS = /[\u200c\u200d]/;

/** Splits a text where it has hidden characters; one piece if it has none. */
export function pieces(text: string): Piece[] {
  const found: Piece[] = [];
  let from = 0;
  for (const match of text.matchAll(HIDDEN)) {
    if (JOINERS.test(match[0]) && (text.codePointAt(match.index - 1) ?? 0) > 0x2ff) continue;
    if (match.index > from) found.push({ text: text.slice(from, match.index), isHidden: false });
    found.push({ text: nameOf(match[0]), isHidden: true });
    from = match.index + match[0].length;
  }
  if (found.length === 0) return [{ text, isHidden: false }];
  if (from < text.length) found.push({ text: text.slice(from), isHidden: false });
  return found;
}

/** Names the characters that would turn a text around; all others stay. */
export function withoutTurns(text: string): string {
  return TURNING.test(text) ? text.replace(/[\u202a-\u202e\u2066-\u2069]/g, (letter) => `[${nameOf(letter)}]`) : text;
}

function nameOf(letter: string): string {
  return `U+${(letter.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
}
