// Whether a thread waits for its first run: no checkpoint is of a run, and none is in the queue.

import { useResource } from "../../api/resource";
import { isRecording } from "../../api/recording";
import { hasOpenRun } from "../../api/run";
import { useThreadChanges } from "../../api/thread_changes";
import { isOnlyWritten, type Known } from "../../fold/checkpoints";

/** Undefined until it is known. */
export function useIsUnstarted(thread: string, known: Known | null): boolean | undefined {
  const mayBe = known !== null && isOnlyWritten(known) && !isRecording();
  const { value: hasRun, reload } = useResource(`open runs ${mayBe} ${thread}`, (signal) => (mayBe ? hasOpenRun(thread, signal) : Promise.resolve(true)));
  useThreadChanges(thread, () => void (mayBe && reload()));
  if (known === null || (mayBe && hasRun === undefined)) return undefined;
  return mayBe && hasRun === false;
}
