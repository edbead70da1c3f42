import { expect, test } from "vitest";

import { isNothing, readHealth, readSpending, shares, tokensText } from "../../src/fold/spend";

const SPEND = {
  total: { cost: 5_000_000, tokens: 120_000, unpriced: 300 },
  by_graph: [{ graph: "chat", cost: 1_000_000, tokens: 20_000, unpriced: 0 }, { graph: "tasks", cost: 4_000_000, tokens: 100_000, unpriced: 300 }],
  by_task: [{ task: "T1", thread: "release", cost: 4_000_000, tokens: { input: 90_000, output: 10_000 } }],
  by_role: [],
  by_day: [{ day: "2026-11-26", cost: 1, tokens: 1 }, { day: "2026-11-27", cost: 2, tokens: 2 }],
};

test("what was spent is in tables, the dearest first, the newest day first", () => {
  const spending = readSpending(SPEND);
  expect(spending.total).toEqual({ cost: 5_000_000, tokens: 120_000, unpriced: 300 });
  expect(spending.graphs.map(({ name }) => name)).toEqual(["tasks", "chat"]);
  expect(spending.tasks[0]).toEqual({ name: "T1", thread: "release", cost: 4_000_000, tokens: 100_000, unpriced: 0 });
  expect(spending.days.map(({ name }) => name)).toEqual(["2026-11-27", "2026-11-26"]);
  expect(isNothing(spending)).toBe(false);
});

test("an answer without parts is nothing", () => {
  expect(isNothing(readSpending({}))).toBe(true);
  expect(readSpending(null).graphs).toEqual([]);
});

test("bars are as long as what they show, tokens where nothing has a price", () => {
  expect(shares(readSpending(SPEND).graphs)).toEqual([100, 25]);
  const unpriced = { name: "a", thread: null, cost: 0, tokens: 50, unpriced: 50 };
  expect(shares([unpriced, { ...unpriced, tokens: 25 }])).toEqual([100, 50]);
  expect(shares([{ ...unpriced, tokens: 0 }])).toEqual([0]);
});

test("tokens are short", () => {
  expect([950, 9_999, 12_340, 4_560_000].map(tokensText)).toEqual(["950", "9,999", "12.3 k", "4.56 M"]);
});

test("health is read as far as it is there", () => {
  const health = readHealth({ queue: { pending: 2, running: 1, oldest_at: "2026-11-27T10:00:00Z" }, workers: [{ name: "w1", host: "tower", pid: 4711, last_seen: "2026-11-27T10:00:00Z", threads: 3, version: "1.2.0", graphs: ["order"] }], questions: { open: 0, oldest_at: null } });
  expect(health).toMatchObject({ pending: 2, running: 1, questions: 0, oldestQuestion: null });
  expect(health.workers[0]).toMatchObject({ name: "w1", graphs: ["order"] });
  expect(readHealth({}).workers).toEqual([]);
});
