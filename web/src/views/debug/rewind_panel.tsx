// Back to an earlier checkpoint of the same thread, which keeps what came after it as another branch. It is asked once more, as the thread
// then continues from there.

import { useState } from "preact/hooks";

import { request } from "../../api/source";
import type { Again } from "../../fold/fork";
import { Confirm } from "../../parts/button";
import { ErrorNote } from "../../parts/notes";
import { go } from "../../routing/navigation";
import { AgainNote } from "./again_note";

interface RewindProps {
  thread: string;
  checkpoint: string;
  again: Again;
  onClose: () => void;
}

export function RewindPanel({ thread, checkpoint, again, onClose }: RewindProps) {
  const [isAsked, setAsked] = useState(true);
  const [error, setError] = useState<Error | null>(null);
  const rewind = (): void => {
    setAsked(false);
    const body = { checkpoint: Number(checkpoint) };
    request(`/threads/${encodeURIComponent(thread)}/fork`, { method: "POST", body }).then(
      () => (onClose(), go({ view: "thread", thread })),
      (cause: Error) => setError(cause),
    );
  };
  return (
    <div role="status">
      {error !== null && <ErrorNote error={error} />}
      {isAsked && (
        <Confirm title={`Rewind ${thread} to checkpoint ${checkpoint}?`} onCancel={onClose} onConfirm={rewind}>
          <div class="stack">
            <p>The thread continues from there once it is resumed. What came after stays in its history as another branch; effects are not undone.</p>
            <AgainNote again={again} />
          </div>
        </Confirm>
      )}
    </div>
  );
}
