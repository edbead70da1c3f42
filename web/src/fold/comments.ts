// Comments on lines of a diff, as they travel with an answer: lines `FILE:LINE: text` of its note, and of the feedback that an agent reads.
// While they are written, by place, as what is typed into the fields of a form. Knows no DOM.

export interface Comment {
  file: string;
  line: number;
  /** The side whose numbers count: the new file, or the old one for a line that is gone from it. */
  side: "new" | "old";
  text: string;
}

/** Texts that are being written, by place: comments, and what is typed into a form and is no value yet; they outlive the lines on the screen. */
export interface Writing {
  all: ReadonlyMap<string, string>;
  /** Keeps a text; an empty one is forgotten. */
  write: (place: string, text: string) => void;
}

/** Keeps nothing: for those who only read, and for forms that are no answers. */
export const NO_WRITING: Writing = { all: new Map(), write: () => undefined };

/** Names the place of a comment that is being written. */
export function writingPlace(file: string, line: string): string {
  return `${file}\n${line}`;
}

/** The places of all fields of a form begin with it; no file is named so. */
export const FORM = "\nform ";

/** Returns the first line of a file on which a comment is being written. */
export function writtenLine({ all }: Writing, file: string): string | null {
  const place = [...all.keys()].find((key) => key.startsWith(`${file}\n`));
  return place?.slice(file.length + 1) ?? null;
}

/** Returns a comment as a line of a note. */
export function commentLine({ file, line, side, text }: Comment): string {
  const words = text.trim().replace(/\s*\n\s*/g, " ");
  return `${file}:${line}: ${side === "old" ? "(removed line) " : ""}${words}`;
}

/** Adds comments to a text, a line for each. */
export function withComments(text: string, comments: Comment[]): string {
  const lines = comments.map(commentLine).join("\n");
  if (comments.length === 0) return text;
  return text.trim() === "" ? lines : `${text.trimEnd()}\n${lines}`;
}

/** Returns the comments by side and line, for one file. */
export function byLine(comments: Comment[], file: string): Map<string, Comment[]> {
  const found = new Map<string, Comment[]>();
  for (const comment of comments) {
    if (comment.file !== file) continue;
    const key = lineKey(comment);
    found.set(key, [...(found.get(key) ?? []), comment]);
  }
  return found;
}

export function lineKey({ side, line }: { side: "new" | "old"; line: number }): string {
  return `${side}:${line}`;
}
