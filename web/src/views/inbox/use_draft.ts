// Keeps an answer while it is made: a moment after the last key, and when the page is left.

import { useEffect, useMemo } from "preact/hooks";

import type { Ask } from "../../api/types";
import type { AnswerDraft } from "../../fold/drafts";
import { hashOf } from "../../fold/hash";
import { keepDraft, loadDraft, type DraftPlace } from "../../live/drafts";

export interface DraftKeeper {
  /** What was kept when the question was shown. */
  first: AnswerDraft | null;
  /** Notes the answer as it is now; null if nothing is typed in. */
  note: (draft: AnswerDraft | null) => void;
  /** Forgets it at once. */
  forget: () => void;
}

/** The time after the last key until it is kept, in milliseconds. */
const PAUSE = 250;

export function useDraft(thread: string, { id, value, draft }: Ask): DraftKeeper {
  const keeper = useMemo(() => new Keeper({ thread, id, mark: hashOf([JSON.stringify(value), draft ?? ""]) }), [thread, id]);
  useEffect(() => {
    addEventListener("pagehide", keeper.write);
    document.addEventListener("visibilitychange", keeper.write);
    return () => {
      removeEventListener("pagehide", keeper.write);
      document.removeEventListener("visibilitychange", keeper.write);
      keeper.write();
    };
  }, [keeper]);
  return keeper;
}

class Keeper implements DraftKeeper {
  readonly first: AnswerDraft | null;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private next: AnswerDraft | null = null;
  private isKept: boolean;

  constructor(private readonly place: DraftPlace) {
    this.first = loadDraft(place);
    this.isKept = this.first !== null;
  }

  readonly note = (draft: AnswerDraft | null): void => {
    if (draft === null && !this.isKept && this.timer === undefined) return;
    this.next = draft;
    clearTimeout(this.timer);
    this.timer = setTimeout(this.write, PAUSE);
  };

  readonly write = (): void => {
    if (this.timer === undefined) return;
    clearTimeout(this.timer);
    this.timer = undefined;
    keepDraft(this.place, this.next);
    this.isKept = this.next !== null;
  };

  readonly forget = (): void => {
    this.note(null);
    this.write();
  };
}
