// The one stream of what happens to all threads, which makes every view live. It is opened once, comes back after the server's restart
// with the number of its last event, and tells listeners which threads have changed. Knows no view.

import { signal } from "@preact/signals";

import { key } from "./key";
import { isRecording } from "./recording";
import { RequestError, open } from "./source";
import { readEvents } from "./sse";

export interface Activity {
  seq: number;
  at: string;
  thread: string;
  graph: string;
  kind: "started" | "position" | "question" | "answered" | "ended" | "deleted";
}

/** A listener gets the events of a moment; null if some were missed, so that anything may have changed. */
export type Listener = (events: Activity[] | null) => void;

/** Whether the server answers: views say so where it does not. */
export const connection = signal<"connecting" | "live" | "lost">("connecting");

const WAITS = [250, 500, 1000, 2000, 3000];
/** Events of this many milliseconds are one change. */
const MOMENT = 60;

const listeners = new Set<Listener>();
let pending: Activity[] = [];
let timer: number | undefined;

/** Calls `listener` after each change; returns the function that ends it. */
export function listen(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Reads the stream for as long as the page is open. */
export async function watchActivity(): Promise<void> {
  if (isRecording()) return;
  let since: string | undefined;
  let failures = 0;
  for (;;) {
    try {
      for await (const number of connect(since, () => (failures = 0))) since = number;
    } catch (error) {
      if (error instanceof RequestError && error.status === 401) await newKey();
    }
    connection.value = "lost";
    await wait(WAITS[Math.min(failures++, WAITS.length - 1)] ?? 3000);
  }
}

async function* connect(since: string | undefined, connected: () => void): AsyncGenerator<string> {
  const response = await open("/events", since === undefined ? {} : { headers: { "last-event-id": since } });
  const wasLost = connection.value === "lost";
  connected();
  connection.value = "live";
  if (wasLost) notifyAll(null);
  if (response.body === null) return;
  for await (const { event, data, id } of readEvents(response.body)) {
    if (event === "gap") notifyAll(null);
    if (event === "activity") collect(JSON.parse(data) as Activity);
    if (id !== undefined) yield id;
  }
}

function collect(event: Activity): void {
  pending.push(event);
  timer ??= setTimeout(() => {
    timer = undefined;
    const events = pending;
    pending = [];
    notifyAll(events);
  }, MOMENT) as unknown as number;
}

function notifyAll(events: Activity[] | null): void {
  for (const listener of [...listeners]) listener(events);
}

function newKey(): Promise<void> {
  const old = key.value;
  return new Promise((resolve) => {
    const stop = key.subscribe((now) => {
      if (now !== old) queueMicrotask(() => (stop(), resolve()));
    });
  });
}

function wait(millis: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, millis));
}
