// What a thread sends while a task runs: messages piece by piece, and what nodes emit. Comes back after the server's restart.

import { useEffect, useState } from "preact/hooks";

import { breathing } from "../../api/breath";
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
        await isSeen(stop.signal);
        const part = whileSeen(stop.signal);
        await read(thread, seen, part.signal, add).catch(() => undefined);
        part.abort();
        await new Promise((resolve) => setTimeout(resolve, PAUSE));
      }
    };
    void follow();
    return () => (stop.abort(), cancelAnimationFrame(frame));
  }, [thread, isRunning, namespace.join("\n"), since]);
  return live;
}

/** Resolves when somebody looks at the page: a tab in the background has no stream, since a browser has few connections to a server. */
function isSeen(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (document.visibilityState === "visible") return resolve();
    const done = (): void => (document.removeEventListener("visibilitychange", done), resolve());
    document.addEventListener("visibilitychange", done, { signal });
    signal.addEventListener("abort", () => resolve());
  });
}

/** Returns what ends when nobody looks at the page any more, or `signal` is aborted. */
function whileSeen(signal: AbortSignal): AbortController {
  const part = new AbortController();
  document.addEventListener("visibilitychange", () => part.abort(), { signal: part.signal });
  signal.addEventListener("abort", () => part.abort(), { signal: part.signal });
  return part;
}

async function read(thread: string, since: number, signal: AbortSignal, add: (event: ProtocolEvent & { seq: number }) => void): Promise<void> {
  const { body } = await openEvents(thread, CHANNELS, since, signal);
  if (body === null) return;
  const breathe = breathing();
  for await (const { data } of readEvents(body)) {
    await breathe();
    if (data === "") continue;
    const event = JSON.parse(data) as ProtocolEvent & { seq: number; type?: string };
    if (event.params !== undefined) add(event);
  }
}
