// What is loaded of the work of a run: the channels that describe it, at the checkpoint that is shown.

import { useMemo, useRef } from "preact/hooks";

import { useResource } from "../../api/resource";
import { loadChannels, loadLevel } from "../../api/run";
import type { Brief, RunningTask } from "../../api/run_types";
import type { InboxItem, JsonObject } from "../../api/types";
import { CHANNELS, shapeOf, type Work, type WorkShape } from "../../fold/work";
import { readWork } from "../../fold/work_read";

export interface Loaded {
  work: Work | null;
  shape: WorkShape | null;
  error: Error | undefined;
}

/** A slider that moves is not followed by a request for each position. */
const PAUSE = 80;

export interface WorkPlace {
  thread: string;
  checkpoint: number;
  /** What runs and what is asked; null if the checkpoint is not the newest. */
  live: { isRunning: boolean; running: RunningTask[]; tasks: Brief[]; questions: InboxItem[] } | null;
}

/** Loads the work at a checkpoint; none for a state of another shape, which is looked at once. */
export function useWork({ thread, checkpoint, live }: WorkPlace): Loaded {
  const known = useRef<{ thread: string; shape: WorkShape | null } | null>(null);
  const last = useRef<{ thread: string; shape: WorkShape; state: JsonObject } | null>(null);
  const { value, error } = useResource(`work ${thread} ${checkpoint}`, async (signal) => {
    if (known.current?.thread !== thread) {
      const { entries = [] } = await loadLevel(thread, checkpoint, "", undefined, signal);
      if (entries.length > 0) known.current = { thread, shape: shapeOf(entries.map(({ key }) => key)) };
    } else if (last.current !== null) await new Promise((resolve) => setTimeout(resolve, PAUSE));
    const shape = known.current?.shape ?? null;
    if (signal.aborted || shape === null) return null;
    return { thread, shape, state: await loadChannels(thread, checkpoint, CHANNELS[shape], signal) };
  });
  // What was loaded before is shown until the next is there.
  if (value !== undefined) last.current = value;
  const shown = last.current?.thread === thread ? last.current : null;
  const work = useMemo(() => {
    if (shown === null) return null;
    const asked = (live?.questions ?? []).flatMap(({ question }) => (question == null ? [] : [question.value]));
    return readWork(shown.shape, shown.state, live === null ? null : { ...live, asked });
  }, [shown, live?.isRunning, live?.running, live?.tasks, live?.questions]);
  return { work, shape: shown?.shape ?? null, error };
}
