// What a thread sends while a task runs: messages piece by piece, and what nodes emit. Comes back after the server's restart.

import { useEffect, useState } from "preact/hooks";

import { openEvents } from "../../api/run";
import { readEvents } from "../../api/sse";
import { addLive, NOTHING, type Live, type ProtocolEvent } from "../../fold/task";

const CHANNELS = ["messages", "custom"];
const PAUSE = 1000;

/** Follows a thread for as long as `isRunning`. Events of a moment are shown together. `namespace` is of the subgraph of the task, `since` its start. */
export function useLive(thread: string, isRunning: boolean, namespace: string[], since: number): Live {
  const [live, setLive] = useState<Live>(NOTHING);
  useEffect(() => {
    if (!isRunning) return setLive(NOTHING);
    const stop = new AbortController();
    let [seen, now, frame] = [0, NOTHING, 0];
    const show = (): void => {
      frame = 0;
      setLive(now);
    };
    const add = (event: ProtocolEvent & { seq: number }): void => {
      seen = Math.max(seen, event.seq);
      const isOwn = event.params.namespace.join("\n") === namespace.join("\n") && event.params.timestamp >= since;
      if (!isOwn) return;
      now = addLive(now, event);
      if (frame === 0) frame = requestAnimationFrame(show);
    };
    const follow = async (): Promise<void> => {
      while (!stop.signal.aborted) {
        await read(thread, seen, stop.signal, add).catch(() => undefined);
        await new Promise((resolve) => setTimeout(resolve, PAUSE));
      }
    };
    void follow();
    return () => (stop.abort(), cancelAnimationFrame(frame));
  }, [thread, isRunning, namespace.join("\n"), since]);
  return live;
}

async function read(thread: string, since: number, signal: AbortSignal, add: (event: ProtocolEvent & { seq: number }) => void): Promise<void> {
  const { body } = await openEvents(thread, CHANNELS, since, signal);
  if (body === null) return;
  for await (const { data } of readEvents(body)) {
    if (data === "") continue;
    const event = JSON.parse(data) as ProtocolEvent & { seq: number; type?: string };
    if (event.params !== undefined) add(event);
  }
}
