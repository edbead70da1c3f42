// What was typed into answers, kept over a reload and a restart of the browser until it is sent: in the browser, or with a key in the tab
// alone, as the key itself. Knows no answer from inside.

import { SERVER } from "../api/address";
import { key } from "../api/key";
import { keptAt, outdated, readDraft, writeDraft, type AnswerDraft, type KeptDraft } from "../fold/drafts";

/** A question: its thread and id, and a mark of its content, by which one of another store is told from it. */
export interface DraftPlace {
  thread: string;
  id: string;
  mark: string;
}

/** The names of all drafts begin with it, also those of other servers at this origin. */
const PREFIX = "superstep-answer ";

/** Returns what was typed into the answer to a question; null if nothing was. */
export function loadDraft(place: DraftPlace): AnswerDraft | null {
  return use((storage) => {
    const words = storage.getItem(nameOf(place));
    return words === null ? null : readDraft(words, place.mark);
  });
}

/** Keeps what was typed, or forgets it with null. */
export function keepDraft(place: DraftPlace, draft: AnswerDraft | null): void {
  use((storage) => {
    const words = draft === null ? null : writeDraft(draft, place.mark, Date.now());
    if (words === null) return storage.removeItem(nameOf(place));
    storage.setItem(nameOf(place), words);
    for (const name of outdated(keptIn(storage), Date.now())) storage.removeItem(name);
  });
}

function keptIn(storage: Storage): KeptDraft[] {
  const names = Array.from({ length: storage.length }, (_, at) => storage.key(at) ?? "").filter((name) => name.startsWith(PREFIX));
  return names.map((name) => {
    const words = storage.getItem(name) ?? "";
    return { name, at: keptAt(words), size: words.length };
  });
}

function nameOf({ thread, id }: DraftPlace): string {
  return `${PREFIX}${SERVER}\n${thread}\n${id}`;
}

/** A browser without storage, or with a full one, forgets it. */
function use<T>(work: (storage: Storage) => T): T | null {
  try {
    return work(key.value === null ? localStorage : sessionStorage);
  } catch {
    return null;
  }
}
