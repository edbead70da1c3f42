// Back to an earlier checkpoint of the same thread: what came after it is removed, so it is asked once more.

import { useState } from "preact/hooks";

import { request } from "../../api/source";
import { Confirm } from "../../parts/button";
import { ErrorNote } from "../../parts/notes";
import { go } from "../../routing/navigation";

export function RewindPanel({ thread, checkpoint, onClose }: { thread: string; checkpoint: string; onClose: () => void }) {
  const [isAsked, setAsked] = useState(true);
  const [error, setError] = useState<Error | null>(null);
  const rewind = (): void => {
    setAsked(false);
    const body = { checkpoint: Number(checkpoint) };
    request(`/threads/${encodeURIComponent(thread)}/rewind`, { method: "POST", body }).then(
      () => (onClose(), go({ view: "thread", thread })),
      (cause: Error) => setError(cause),
    );
  };
  return (
    <div role="status">
      {error !== null && <ErrorNote error={error} />}
      {isAsked && (
        <Confirm title={`Rewind ${thread} to checkpoint ${checkpoint}?`} onCancel={onClose} onConfirm={rewind}>
          The checkpoints after it are removed. Files that the run has written stay as they are. A fork keeps both.
        </Confirm>
      )}
    </div>
  );
}
