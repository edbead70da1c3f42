// What can be done with the threads that are selected, and what became of it.

import { useState } from "preact/hooks";

import { countText, outcomeText, type Outcome } from "../../fold/threads";
import { Button, Confirm } from "../../parts/button";
import { cancelThread, changeAll, deleteThread } from "./changes";

interface ActionsProps {
  /** The threads that are selected, in the order of the list. */
  selected: string[];
  /** The threads that were read. */
  shown: string[];
  onSelect: (threads: string[]) => void;
  onChanged: () => void;
}

interface Done {
  word: string;
  outcomes: Outcome[];
}

export function Actions({ selected, shown, onSelect, onChanged }: ActionsProps) {
  const [isAsked, setAsked] = useState(false);
  const [isBusy, setBusy] = useState(false);
  const [done, setDone] = useState<Done | null>(null);
  const isNone = selected.length === 0;
  const change = async (word: string, action: (thread: string) => Promise<void>): Promise<void> => {
    setAsked(false);
    setBusy(true);
    const outcomes = await changeAll(selected, action);
    setDone({ word, outcomes });
    setBusy(false);
    onSelect(outcomes.filter(({ error }) => error !== null).map(({ thread }) => thread));
    onChanged();
  };
  return (
    <div class="threads-actions">
      <div class="row threads-toolbar">
        <label class="field-check threads-all">
          <input
            type="checkbox"
            checked={!isNone && selected.length >= shown.length}
            indeterminate={!isNone && selected.length < shown.length}
            disabled={shown.length === 0}
            onChange={(event) => onSelect(event.currentTarget.checked ? shown : [])}
          />
          <span>{isNone ? "Select all shown" : `${selected.length.toLocaleString("en")} selected`}</span>
        </label>
        <Button disabled={isNone || isBusy} onClick={() => void change("cancelled", cancelThread)}>
          Cancel
        </Button>
        <Button kind="bad" disabled={isNone || isBusy} onClick={() => setAsked(true)}>
          Delete
        </Button>
      </div>
      <Result done={done} isBusy={isBusy} onClose={() => setDone(null)} />
      {isAsked && (
        <Confirm title={`Delete ${countText(selected.length)}?`} onCancel={() => setAsked(false)} onConfirm={() => void change("deleted", deleteThread)}>
          <p>{namesText(selected)}</p>
          <p class="soft">Their states, histories and questions go too, and cannot be brought back. Export a thread first to keep it.</p>
        </Confirm>
      )}
    </div>
  );
}

function Result({ done, isBusy, onClose }: { done: Done | null; isBusy: boolean; onClose: () => void }) {
  const failed = (done?.outcomes ?? []).filter(({ error }) => error !== null);
  return (
    <div role="status" class="threads-result">
      {isBusy && <p class="soft">Working…</p>}
      {done !== null && !isBusy && (
        <div class="note stack" data-kind={failed.length === 0 ? "good" : "bad"}>
          <div class="row threads-result-head">
            <p>{outcomeText(done.word, done.outcomes)}</p>
            <Button kind="quiet" onClick={onClose}>
              Dismiss
            </Button>
          </div>
          {failed.length > 0 && (
            <ul class="threads-failed">
              {failed.map(({ thread, error }) => (
                <li>
                  <strong>{thread}</strong>: {error}
                </li>
              ))}
            </ul>
          )}
        </div>
      )}
    </div>
  );
}

function namesText(names: string[]): string {
  return names.length <= 5 ? names.join(", ") : `${names.slice(0, 4).join(", ")} and ${names.length - 4} more`;
}
