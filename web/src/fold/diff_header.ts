// The lines above the hunks of a file in a diff: its names, and how it was changed. Knows no hunk.

export type Change = "changed" | "new" | "deleted" | "renamed" | "copied" | "mode";

export interface FileHeader {
  /** The present name; that of a deleted file is its last. */
  name: string;
  /** The former name of a file that was renamed or copied. */
  oldName: string | null;
  change: Change;
  isBinary: boolean;
  /** `100644 → 100755`, if it was changed. */
  modes: string | null;
  /** Set if the names are those of `---` and `+++`. */
  hasNames: boolean;
}

export interface ReadHeader {
  file: FileHeader;
  /** Set if it begins another file. */
  isNew: boolean;
  /** The number of lines that were read. */
  lines: number;
}

const NO_NAME = "(no name)";
const EXTENDED = /^(old mode|new mode|deleted file mode|new file mode|copy from|copy to|rename from|rename to|similarity index|dissimilarity index|index|Binary files|GIT binary patch)/;

/** Reads a header that begins at a line; null where none does. `open` is a file that has no lines yet. */
export function readHeader(lines: string[], at: number, open: FileHeader | null): ReadHeader | null {
  const line = clean(lines[at]);
  if (line.startsWith("diff --git ")) return readGit(lines, at);
  if (line.startsWith("--- ") && clean(lines[at + 1]).startsWith("+++ ")) {
    const file = takeNames(pathOf(line.slice(4)), pathOf(clean(lines[at + 1]).slice(4)));
    if (open === null) return { file, isNew: true, lines: 2 };
    open.hasNames = true;
    return { file: open, isNew: false, lines: 2 };
  }
  const binary = /^Binary files (.+) and (.+) differ$/.exec(line);
  if (binary !== null && open === null) {
    return { file: { ...takeNames(pathOf(binary[1] ?? ""), pathOf(binary[2] ?? "")), isBinary: true }, isNew: true, lines: 1 };
  }
  return null;
}

/** Returns the header of a file with these names; null is no file. */
export function takeNames(old: string | null, now: string | null): FileHeader {
  const isGit = old === null || now === null || (/^[a-z]\//.test(old) && /^[a-z]\//.test(now));
  const [from, to] = [old, now].map((path) => (path === null ? null : isGit ? path.replace(/^[a-z]\//, "") : path));
  const change: Change = from === null && to === null ? "changed" : from === null ? "new" : to === null ? "deleted" : "changed";
  return { name: to ?? from ?? NO_NAME, oldName: null, change, isBinary: false, modes: null, hasNames: true };
}

function readGit(lines: string[], start: number): ReadHeader {
  const [old, now] = gitNames(clean(lines[start]).slice("diff --git ".length));
  const file: FileHeader = { ...takeNames(old, now), hasNames: false };
  let at = start + 1;
  let [oldMode, newMode] = ["", ""];
  for (; at < lines.length && EXTENDED.test(lines[at] ?? ""); at += 1) {
    const line = clean(lines[at]);
    const [, word = "", rest = ""] = /^(old mode|new mode|deleted file mode|new file mode|copy from|copy to|rename from|rename to) (.+)$/.exec(line) ?? [];
    if (word === "old mode") oldMode = rest;
    else if (word === "new mode") newMode = rest;
    else if (word === "deleted file mode") file.change = "deleted";
    else if (word === "new file mode") file.change = "new";
    else if (word.endsWith("from")) file.oldName = unquote(rest);
    else if (word.endsWith("to")) [file.name, file.change] = [unquote(rest), word.startsWith("copy") ? "copied" : "renamed"];
    else if (line.startsWith("Binary files") || line.startsWith("GIT binary")) file.isBinary = true;
  }
  if (oldMode !== "" && newMode !== "") {
    file.modes = `${oldMode} → ${newMode}`;
    if (file.change === "changed" && !clean(lines[at]).startsWith("--- ") && !file.isBinary) file.change = "mode";
  }
  return { file, isNew: true, lines: at - start };
}

/** Returns the names of `a/NAME b/NAME`. Names with spaces are only found if both are the same; others follow as `rename from`. */
function gitNames(words: string): [string, string] {
  const quoted = /^("(?:[^"\\]|\\.)*"|\S+) ("(?:[^"\\]|\\.)*"|\S+)$/.exec(words);
  if (quoted !== null) return [unquote(quoted[1] ?? ""), unquote(quoted[2] ?? "")];
  const half = (words.length - 1) / 2;
  const [old, now] = [words.slice(0, half), words.slice(half + 1)];
  if (old.replace(/^a\//, "") === now.replace(/^b\//, "")) return [old, now];
  const at = words.indexOf(" b/");
  return at < 0 ? [words, words] : [words.slice(0, at), words.slice(at + 1)];
}

/** Returns the path behind `---` or `+++`, without its time; null for no file. */
function pathOf(words: string): string | null {
  const path = words.startsWith('"') ? unquote(words) : (words.split("\t")[0] ?? "");
  return path === "/dev/null" ? null : path;
}

/** Reads a name in quotes, in which git writes bytes as octal numbers. */
export function unquote(words: string): string {
  const inner = /^"((?:[^"\\]|\\.)*)"/.exec(words)?.[1];
  if (inner === undefined) return words;
  const bytes: number[] = [];
  for (let at = 0; at < inner.length; at += 1) {
    const octal = /^\\([0-7]{3})/.exec(inner.slice(at, at + 4));
    if (octal !== null) {
      bytes.push(parseInt(octal[1] ?? "0", 8));
      at += 3;
    } else if (inner[at] === "\\") {
      at += 1;
      bytes.push(...new TextEncoder().encode(ESCAPES[inner[at] ?? ""] ?? inner[at] ?? ""));
    } else {
      const letter = String.fromCodePoint(inner.codePointAt(at) ?? 0);
      bytes.push(...new TextEncoder().encode(letter));
      at += letter.length - 1;
    }
  }
  return new TextDecoder().decode(new Uint8Array(bytes));
}

const ESCAPES: Record<string, string> = { n: "\n", t: "\t", r: "\r", a: "\x07", b: "\b", f: "\f", v: "\v" };

function clean(line: string | undefined): string {
  return (line ?? "").replace(/\r$/, "");
}
