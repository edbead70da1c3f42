// What happens to all threads, which makes every view live: tells listeners which threads have changed. All tabs share one stream where the
// browser can. Knows no view.

import { effect, signal } from "@preact/signals";

import { readActivity, type Activity, type News } from "./activity_stream";
import type { TabMessage } from "./activity_worker";
import { isKeyWanted, key } from "./key";
import { isRecording } from "./recording";

export type { Activity } from "./activity_stream";

/** A listener gets the events of a moment; null if some were missed, so that anything may have changed. */
export type Listener = (events: Activity[] | null) => void;

/** Whether the server answers: views say so where it does not. */
export const connection = signal<"connecting" | "live" | "lost">("connecting");

/** The time that a first load waits for the stream, so that it misses nothing, in milliseconds. */
const PATIENCE = 250;

const listeners = new Set<Listener>();
let isConnected = (): void => undefined;
/** Resolves when the stream is there, or takes its time. */
export const connected = isRecording() ? Promise.resolve() : new Promise<void>((resolve) => {
  isConnected = resolve;
  setTimeout(resolve, PATIENCE);
});

/** Calls `listener` after each change; returns the function that ends it. */
export function listen(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Reads the stream for as long as the page is open, with the key of the moment. */
export function watchActivity(): void {
  if (isRecording()) return;
  const started = performance.now();
  const join = joinStream();
  let wasLive = false;
  const hear = (news: News): void => {
    if ("events" in news) return notifyAll(news.events);
    if (news.state === "refused") isKeyWanted.value = true;
    connection.value = news.state === "refused" ? "lost" : news.state;
    if (news.state !== "live") return;
    isConnected();
    // Views that did not wait may have missed something.
    if (!wasLive && performance.now() - started > PATIENCE) notifyAll(null);
    wasLive = true;
  };
  effect(() => join(key.value, hear));
  // A page that comes back out of the browser's memory has heard nothing meanwhile.
  addEventListener("pageshow", ({ persisted }) => {
    if (persisted) join(key.value, hear);
    if (persisted) notifyAll(null);
  });
}

type Join = (key: string | null, hear: (news: News) => void) => void;

/** Returns the function that joins the stream with a key, and leaves the one that it has joined before. */
function joinStream(): Join {
  return typeof SharedWorker === "undefined" ? ownStream() : sharedStream();
}

function sharedStream(): Join {
  const worker = new SharedWorker(new URL("./activity_worker.ts", import.meta.url), { type: "module" });
  let own: Join | null = null;
  let last: Parameters<Join> | null = null;
  // A browser that cannot run it has a stream in each tab.
  worker.onerror = () => {
    own ??= ownStream();
    if (last !== null) own(...last);
  };
  addEventListener("pagehide", () => worker.port.postMessage("left" satisfies TabMessage));
  return (key, hear) => {
    last = [key, hear];
    if (own !== null) return own(key, hear);
    worker.port.onmessage = ({ data }: MessageEvent<News>) => hear(data);
    worker.port.postMessage({ key } satisfies TabMessage);
  };
}

function ownStream(): Join {
  let stop = new AbortController();
  return (key, hear) => {
    stop.abort();
    stop = new AbortController();
    const { signal } = stop;
    void readActivity(key, (news) => signal.aborted || hear(news), signal);
  };
}

function notifyAll(events: Activity[] | null): void {
  for (const listener of [...listeners]) listener(events);
}
