// What was typed into an answer that is not sent yet, as it is kept in the browser: without secrets, and bounded. Knows no storage.

import type { Json } from "../api/types";
import { chosenVariant, type Action } from "./actions";
import type { Comment } from "./comments";
import { isObject, resolve, text, withoutSecrets } from "./schema";

export interface AnswerDraft {
  /** The action whose form is shown. */
  name: string | null;
  value: Json | undefined;
  note: string;
  comments: Comment[];
  /** The edited plan; null if it was not edited. */
  plan: string | null;
  /** Comments that are being written, by file and line. */
  writing: Record<string, string>;
}

/** A draft among others: when it was kept, and its length in characters. */
export interface KeptDraft {
  name: string;
  at: number;
  size: number;
}

/** A longer draft is not kept; of all of them so many characters and so many days, the newest. */
export const LONGEST = 500_000;
const [ALL, MOST, DAYS] = [2_000_000, 100, 30];

/** Returns the names of the drafts that have to go. */
export function outdated(drafts: KeptDraft[], now: number): string[] {
  const newest = [...drafts].sort((a, b) => b.at - a.at);
  let [size, count] = [0, 0];
  return newest.flatMap((draft) => {
    size += draft.size;
    count += 1;
    return size > ALL || count > MOST || now - draft.at > DAYS * 86_400_000 ? [draft.name] : [];
  });
}

/** Writes a draft with the mark of its question, by which it is known again; null if there is too much in it. */
export function writeDraft(draft: AnswerDraft, mark: string, now: number): string | null {
  const words = JSON.stringify({ at: now, mark, ...draft });
  return words.length > LONGEST ? null : words;
}

/** Reads the draft of a question; null if it is of another one, or none. */
export function readDraft(words: string, mark: string): AnswerDraft | null {
  const read = parse(words);
  if (!isObject(read) || read["mark"] !== mark) return null;
  const comments = Array.isArray(read["comments"]) ? read["comments"] : [];
  const writing = isObject(read["writing"]) ? Object.entries(read["writing"]) : [];
  return {
    name: text(read["name"]),
    value: read["value"],
    note: text(read["note"]) ?? "",
    comments: comments.flatMap(readComment),
    plan: text(read["plan"]),
    writing: Object.fromEntries(writing.filter((entry): entry is [string, string] => typeof entry[1] === "string")),
  };
}

/** Returns when a draft was kept; 0 for a text that is none. */
export function keptAt(words: string): number {
  return Number(/^\{"at":(\d+),/.exec(words)?.[1] ?? 0);
}

function readComment(value: Json): Comment[] {
  if (!isObject(value)) return [];
  const { file, line, side, text: words } = value;
  if (typeof file !== "string" || typeof line !== "number" || typeof words !== "string" || (side !== "new" && side !== "old")) return [];
  return [{ file, line, side, text: words }];
}

/** Returns what was typed into the form of an action, without the fields that are secret. */
export function keepable(action: Action | null, value: Json | undefined): Json | undefined {
  if (action === null || value === undefined) return value;
  if (action.variants === null) return action.form === null ? value : withoutSecrets(value, resolve(action.form, action.form), action.form);
  const form = chosenVariant(action.variants, value)?.form;
  if (form == null || !isObject(value)) return value;
  const inner = withoutSecrets(value["value"], resolve(form, form), form);
  return { ...value, value: inner ?? null };
}

function parse(words: string): Json | undefined {
  try {
    return JSON.parse(words) as Json;
  } catch {
    return undefined;
  }
}
