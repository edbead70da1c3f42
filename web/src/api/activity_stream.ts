// The stream of what happens to all threads, read until it is ended: it comes back after the server's restart with the number of its last
// event. Runs in the page or beside it; knows neither.

import { SERVER } from "./address";
import { readEvents } from "./sse";

export interface Activity {
  seq: number;
  at: string;
  thread: string;
  graph: string;
  kind: "started" | "position" | "question" | "answered" | "ended" | "deleted";
}

/** `refused`: the server wants another key. */
export type StreamState = "connecting" | "live" | "lost" | "refused";

/** What a reader of the stream hears; `events` is null if some were missed, so that anything may have changed. */
export type News = { state: StreamState } | { events: Activity[] | null };

const WAITS = [250, 500, 1000, 2000, 3000];
/** Events of this many milliseconds are one change. */
const MOMENT = 40;

/** Reads the stream until `stop` is aborted, or the server refuses the key. */
export async function readActivity(key: string | null, report: (news: News) => void, stop: AbortSignal): Promise<void> {
  const gathered = new Gathered(report);
  let since: string | undefined;
  let [failures, isAgain] = [0, false];
  while (!stop.aborted) {
    try {
      const response = await fetch(`${SERVER}/events`, { headers: headers(key, since), cache: "no-store", credentials: "omit", signal: stop });
      if (response.status === 401) return report({ state: "refused" });
      if (response.ok && response.body !== null) {
        failures = 0;
        report({ state: "live" });
        if (isAgain) report({ events: null });
        isAgain = true;
        for await (const { event, data, id } of readEvents(response.body)) {
          if (event === "gap") report({ events: null });
          if (event === "activity") gathered.add(JSON.parse(data) as Activity);
          since = id ?? since;
        }
      }
    } catch {
      // It is tried again.
    }
    if (stop.aborted) return;
    report({ state: "lost" });
    isAgain = true;
    await new Promise((resolve) => setTimeout(resolve, WAITS[Math.min(failures++, WAITS.length - 1)]));
  }
}

function headers(key: string | null, since: string | undefined): Record<string, string> {
  return { ...(key === null ? {} : { "x-api-key": key }), ...(since === undefined ? {} : { "last-event-id": since }) };
}

/** Events of a moment; of several of one kind in a thread, the last. */
class Gathered {
  private readonly pending = new Map<string, Activity>();
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly report: (news: News) => void) {}

  add(event: Activity): void {
    this.pending.set(`${event.thread}\n${event.kind}`, event);
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      const events = [...this.pending.values()];
      this.pending.clear();
      this.report({ events });
    }, MOMENT);
  }
}
