// The words of git commands about the work of a run: short ids, quoted words, names of folders. Knows no state and no DOM.

/** The letters of a commit's id that the command line shows. */
const SHORT = 9;
const HIDDEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0]/u;

export function shortId(id: string): string {
  return id.slice(0, SHORT);
}

/** Quotes a word for a shell, where that is needed; what is not visible is escaped, so that it cannot look like another word. */
export function shellWord(word: string): string {
  if (/^[A-Za-z0-9_./:@%+,][A-Za-z0-9_\-./:@%+=,#]*$/.test(word)) return word;
  if (!HIDDEN.test(word)) return `'${word.replaceAll("'", "'\\''")}'`;
  const escaped = [...word].map((letter) => (letter === "'" || letter === "\\" ? `\\${letter}` : HIDDEN.test(letter) ? bytes(letter).map((byte) => `\\x${byte}`).join("") : letter));
  return `$'${escaped.join("")}'`;
}

export function gitCommand(folder: string, words: string): string {
  return `git -C ${shellWord(folder)} ${words}`;
}

/** Returns an id as a part of a path or of a reference, as the program escapes it. */
export function escapeId(id: string): string {
  if (id === "") return "%";
  const isWord = (letter: string | undefined): boolean => letter !== undefined && /[A-Za-z0-9]/.test(letter);
  const letters = [...id];
  const isKept = (letter: string, at: number): boolean => {
    if (letter === ".") return isWord(letters[at - 1]) && isWord(letters[at + 1]) && letters.slice(at).join("") !== ".lock";
    return letter === "-" ? at > 0 : isWord(letter) || letter === "_";
  };
  return letters.map((letter, at) => (isKept(letter, at) ? letter : bytes(letter).map((byte) => `%${byte.toUpperCase()}`).join(""))).join("");
}

function bytes(letter: string): string[] {
  return [...new TextEncoder().encode(letter)].map((byte) => byte.toString(16).padStart(2, "0"));
}
