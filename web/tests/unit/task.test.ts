import { describe, expect, test } from "vitest";

import type { Journal, TaskDetail } from "../../src/api/run_types";
import type { Json } from "../../src/api/types";
import { costOf, dollarsText, readJournal, readTurns, tokensOf, tokensText, usedText } from "../../src/fold/journal";
import { addLive, attemptsOf, graphOf, inputLevel, NOTHING, runActions, runWords, taskFacts, taskWords, type ProtocolEvent } from "../../src/fold/task";
import { at } from "./run_fixtures";

const EFFECT = {
  arguments: "scone",
  at: at(0),
  attempt: 1,
  ended_at: at(100),
  idempotency_key: "35b63513-2-1-286c362e804ddf2d",
  key: "reserve",
  kind: "effect" as const,
  repeated: false,
  result: "r-1",
  runs: [{ attempt: 1, end: "done" as const, ended_at: at(100), started_at: at(0) }],
  started_at: at(0),
};
const JOURNAL: Journal = {
  children: [],
  entries: [EFFECT, { at: at(50), attempt: 1, key: "seen", kind: "value", value: 7 }, { at: at(20), attempt: 1, key: "0", kind: "sleep", until: at(900) }],
  messages: [{ at: at(70), value: { left: 3 } }],
  questions: [
    { name: "may_pay", node: "Approve", payload: { item: "scone" }, answer: { at: at(60), by: "ada", name: "may_pay", note: null, value: true } },
    { name: "may_ship", node: "Approve", payload: null, answer: null },
  ],
};
const message = (millis: number, value: Json) => ({ at: at(millis), value });
const TURN = [
  message(1, { turn: { role: "developer", driver: "claude", model: null, task: "2", title: "Add the route", position: 2, total: 5, attempt: 2, directory: "/p", prompt: "Do <b>it</b>" } }),
  message(2, { text: "I will " }),
  message(3, { text: "look." }),
  message(4, { tool_call: { id: "c1", name: "read", arguments: { path: "a" } } }),
  message(5, { tool_call: { id: "c2", name: "run", arguments: {} } }),
  message(6, { tool_result: { id: "c1", ok: true, text: "A" } }),
  message(7, { tool_result: { id: "c2", ok: false, text: "no" } }),
  message(8, { usage: { input: 1 } }),
  message(9, { finished: { status: "done", text: "Done.", submitted: null, session: null, usage: { input: 1000, output: 200, cache_read: 300, cache_write: 0, cost: 4500, requests: 2, ms: 9, estimated: false } } }),
];

describe("a journal", () => {
  test("is read in the order of time, open questions last", () => {
    expect(readJournal(JOURNAL).map(({ kind }) => kind)).toEqual(["effect", "value", "value", "question", "message", "question"]);
    expect(readJournal(JOURNAL)[1]).toEqual({ kind: "value", at: at(20), what: "sleep", key: "0", value: at(900) });
  });

  test("an effect has its arguments, result, key and times", () => {
    expect(readJournal(JOURNAL)[0]).toEqual({
      kind: "effect",
      at: at(0),
      effect: { key: "reserve", place: null, arguments: "scone", result: "r-1", error: null, idempotencyKey: "35b63513-2-1-286c362e804ddf2d", startedAt: at(0), endedAt: at(100), runs: EFFECT.runs },
    });
    const failed = readJournal({ ...JOURNAL, entries: [{ ...EFFECT, result: undefined as never, error: "no stock", within: ["order"], path: ["Child"] }] })[0];
    expect(failed).toMatchObject({ effect: { error: "no stock", place: "in Child/order" } });
  });

  test("an effect of an agent is its turns", () => {
    const items = readJournal({ ...JOURNAL, messages: [], questions: [], entries: [{ ...EFFECT, messages: TURN }] });
    expect(items.map(({ kind }) => kind)).toEqual(["turn"]);
  });
});

describe("a turn", () => {
  test("has its prompt, its words and its calls in order", () => {
    const [found] = readTurns(TURN);
    expect(found?.turn).toMatchObject({ role: "developer", about: "Add the route (2 of 5), attempt 2", prompt: "Do <b>it</b>", status: "done", text: "Done." });
    expect(found?.turn.steps.map((step) => (step.kind === "call" ? `${step.name} ${step.result?.isOk}` : step.text))).toEqual(["I will look.", "read true", "run false"]);
    expect(found?.turn.usage).toEqual({ tokens: 1500, input: 1000, output: 200, cached: 300, cost: 4500, requests: 2, isEstimated: false });
  });

  test("an effect that was repeated has several", () => {
    const turns = readTurns([...TURN.slice(0, 4), ...TURN]);
    expect(turns.map(({ turn }) => [turn.status, turn.steps.length])).toEqual([[null, 2], ["done", 3]]);
  });

  test("messages before a turn, or of another form, are no part of one", () => {
    expect(readTurns([message(0, "text"), message(1, { text: "x" })])).toEqual([]);
  });
});

describe("a task", () => {
  const TASK: TaskDetail = { id: "3-0", node: "Pack", status: "done", attempts: 2, error: null, writes: [], failures: [{ attempt: 1, error: "no box", at: at(10) }], started_at: at(0), ended_at: at(1500), cost: 12_400, tokens: { input: 5000, output: 100 }, path: ["Child", "Pack"] };

  test("has facts", () => {
    expect(taskFacts(TASK).map(({ name, value }) => `${name} ${value}`)).toEqual(["Took 1.50 s", "Attempts 2", "Tokens 5.1 k", "Cost $0.0124", "In Child"]);
  });

  test("has attempts: those that failed, and the last", () => {
    expect(attemptsOf(TASK)).toEqual([{ number: 1, at: at(10), error: "no box" }, { number: 2, at: at(1500), error: null }]);
    expect(attemptsOf({ ...TASK, status: "failed", failures: [], error: "no box" })).toEqual([{ number: 2, at: at(1500), error: "no box" }]);
    expect(attemptsOf({ ...TASK, failures: [] })).toEqual([]);
  });

  test("is running if its run is", () => {
    expect(taskWords({ status: "pending" }, true).text).toBe("running");
    expect(taskWords({ status: "pending" }, false).text).toBe("not started");
  });

  test("has an input, as an outline or as it is", () => {
    const outline = { type: "object" as const, size: 14, count: 1, entries: [], next: null };
    expect(inputLevel(outline)).toBe(outline);
    expect(inputLevel({ item: "tea", log: [1] })?.entries).toEqual([
      { key: "item", type: "string", count: 3, size: 5, preview: "tea" },
      { key: "log", type: "array", count: 1, size: 3, preview: "" },
    ]);
    expect(inputLevel(null)).toBeNull();
  });
});

describe("a run", () => {
  test.each([["running", ["Cancel"]], ["failed", ["Retry"]], ["stopped", ["Resume"]], ["pending", ["Resume"]], ["interrupted", []], ["finished", []]])("that is %s", (status, actions) => expect(runActions({ status })).toEqual(actions));
  test("of an unknown status is named by it", () => expect(runWords("half-done")).toEqual({ text: "half done", mark: undefined }));
});

describe("what happens now", () => {
  const event = (method: string, data: Json): ProtocolEvent => ({ method, params: { namespace: [], node: "Echo", timestamp: Date.parse(at(0)), data } });
  const fold = (events: ProtocolEvent[]) => events.reduce(addLive, NOTHING);

  test("a message grows piece by piece", () => {
    const delta = (text: string) => event("messages", { event: "content-block-delta", message_id: "m1", delta: { type: "text-delta", text } });
    const live = fold([event("messages", { event: "message-start", message_id: "m1", role: "ai" }), delta("echo: "), delta("hi"), event("messages", { event: "message-finish", message_id: "m1" })]);
    expect(live.messages).toEqual([{ id: "m1", node: "Echo", text: "echo: hi", isOver: true }]);
  });

  test("emitted values are kept, the last ones only", () => {
    const live = fold(Array.from({ length: 300 }, (_, tick) => event("custom", { payload: { tick } })));
    expect([live.values.length, live.values.at(-1)?.value]).toEqual([200, { tick: 299 }]);
  });

  test("events of an agent are its turn", () => {
    const live = fold(TURN.slice(0, 6).map(({ value }) => event("custom", { payload: value })));
    expect([live.values, live.turns.length, live.turns[0]?.steps.length]).toEqual([[], 1, 3]);
    const [before] = [live.turns[0]?.steps[1]];
    addLive(live, event("custom", { payload: { tool_result: { id: "c1", ok: false, text: "late" } } }));
    expect(before).toMatchObject({ result: { isOk: true } });
  });
});

test("numbers as people read them", () => {
  expect([tokensOf(5), tokensOf({ input: 1, output: 2, cache_read: 3 }), tokensOf(null)]).toEqual([5, 6, null]);
  expect([tokensText(812), tokensText(12_400), tokensText(1_200_000)]).toEqual(["812", "12.4 k", "1.2 M"]);
  expect([dollarsText(16_000), dollarsText(2_500_099)]).toEqual(["$0.0160", "$2.5000"]);
  expect([costOf(16_000), costOf(0), costOf(null), costOf(undefined)]).toEqual(["$0.0160", null, null, null]);
  expect([usedText({ tokens: 2380, cost: 7000 }), usedText({ tokens: 812, cost: 0 })]).toEqual(["2.4 k tokens, $0.0070", "812 tokens"]);
});

test("the graph of a thread is that of its runs, or the one that its metadata names", () => {
  expect([graphOf({ graph: "order", metadata: { graph_id: "chat" } }), graphOf({ graph: null, metadata: { graph_id: "chat" } }), graphOf({ graph: null, metadata: { graph_id: 7 } }), graphOf({})]).toEqual(["order", "chat", undefined, undefined]);
});
