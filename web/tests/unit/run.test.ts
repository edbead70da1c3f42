// Requests about one run, beside a server of this file.

import { afterEach, beforeEach, expect, test, vi } from "vitest";

let sent: { path: string; body: unknown }[] = [];

beforeEach(() => {
  sent = [];
  vi.stubGlobal("location", { pathname: "/ui/" });
  vi.stubGlobal("sessionStorage", { getItem: () => null });
  vi.stubGlobal("document", { getElementById: () => null });
});
afterEach(() => vi.unstubAllGlobals());

/** Answers requests by their paths. */
function serve(answers: Record<string, unknown>): void {
  vi.stubGlobal("fetch", (path: string, { body }: { body?: string }) => {
    sent.push({ path, body: body === undefined ? undefined : JSON.parse(body) });
    return Promise.resolve(new Response(JSON.stringify(answers[path] ?? {})));
  });
}

const item = (thread: string, id: string) => ({ kind: "question", thread, graph: "g", since: "", step: 1, question: { id } });

test("all pages of what waits in a thread are read", async () => {
  const { loadThreadInbox } = await import("../../src/api/run");
  serve({
    "/threads/a%2Fb/inbox": { items: [item("a/b", "1"), item("a/b", "2")], next: "x&y", waiting: 3 },
    "/threads/a%2Fb/inbox?after=x%26y": { items: [item("a/b", "2"), item("a/b", "3")], next: null, waiting: 3 },
  });
  const ids = (await loadThreadInbox("a/b")).map(({ question }) => question?.id);
  expect(ids).toEqual(["1", "2", "3"]);
});
