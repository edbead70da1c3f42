// One stream for all tabs: a browser has no more than six connections to a server, which the streams of as many tabs would use up.

import { readActivity, type News, type StreamState } from "./activity_stream";

/** What a tab sends: the key that it uses, or that it is left. */
export type TabMessage = { key: string | null } | "left";

interface Stream {
  tabs: Set<MessagePort>;
  state: StreamState;
  stop: AbortController;
}

/** By key; what may be read with one is not for those with another. */
const streams = new Map<string | null, Stream>();

addEventListener("connect", (event) => {
  const tab = (event as MessageEvent).ports[0];
  if (tab === undefined) return;
  tab.onmessage = ({ data }: MessageEvent<TabMessage>) => {
    leave(tab);
    if (data !== "left") join(tab, data.key);
  };
});

function join(tab: MessagePort, key: string | null): void {
  const stream = streams.get(key) ?? open(key);
  stream.tabs.add(tab);
  tab.postMessage({ state: stream.state } satisfies News);
}

function open(key: string | null): Stream {
  const stream: Stream = { tabs: new Set(), state: "connecting", stop: new AbortController() };
  streams.set(key, stream);
  const report = (news: News): void => {
    if ("state" in news) stream.state = news.state;
    for (const tab of stream.tabs) tab.postMessage(news);
  };
  void readActivity(key, report, stream.stop.signal).finally(() => streams.get(key) === stream && streams.delete(key));
  return stream;
}

function leave(tab: MessagePort): void {
  for (const [key, { tabs, stop }] of streams) {
    if (!tabs.delete(tab) || tabs.size > 0) continue;
    stop.abort();
    streams.delete(key);
  }
}
