import { describe, expect, test } from "vitest";

import { costText, emptyPages, markOf, newerThan, offsetOf, outcomeText, pagesBetween, placeText, readNames, rowAt, searchBody, withChanges, type ListedThread, type Pages } from "../../src/fold/threads";

function thread(name: string, more: Partial<ListedThread> = {}): ListedThread {
  return { thread_id: name, created_at: "2026-11-27T10:00:00Z", updated_at: "2026-11-27T10:00:00Z", metadata: { graph_id: "order" }, status: "idle", interrupts: {}, error: null, ...more };
}

const read: Pages = { size: 2, count: 7, read: new Map([[1, [thread("c"), thread("d")]], [0, [thread("a"), thread("b")]]]) };

describe("the pages of a list", () => {
  test("have a row where they were read", () => {
    expect(rowAt(read, 2)?.thread_id).toBe("c");
    expect(rowAt(read, 4)).toBeUndefined();
    expect(readNames(read)).toEqual(["a", "b", "c", "d"]);
  });

  test("are those between two rows, none after the last", () => {
    expect(pagesBetween(read, 3, 5)).toEqual([1, 2]);
    expect(pagesBetween(read, 6, 40)).toEqual([3]);
    expect(pagesBetween(emptyPages(2), 0, 10)).toEqual([]);
  });

  test("begin further down when others were made, and further up when some of before are gone", () => {
    expect(offsetOf(read, 2, 3, new Set(["a", "d", "elsewhere"]))).toBe(5);
    expect(offsetOf(read, 1, 0, new Set(["d"]))).toBe(2);
  });

  test("keep their order when a thread has changed", () => {
    const changed = withChanges(read, [thread("d", { status: "busy" })]);
    expect(readNames(changed)).toEqual(["a", "b", "c", "d"]);
    expect(rowAt(changed, 3)?.status).toBe("busy");
    expect(changed.read.get(0)).toBe(read.read.get(0));
  });

  test("know which threads are newer than their first", () => {
    const older = thread("old", { created_at: "2026-11-26T10:00:00Z" });
    expect(newerThan(read, [older, thread("b"), thread("new", { created_at: "2026-11-27T11:00:00Z" })]).map(({ thread_id }) => thread_id)).toEqual(["new"]);
    expect(newerThan(emptyPages(2), [older])).toEqual([]);
  });
});

describe("a row", () => {
  test("says what a person would", () => {
    expect(markOf(thread("a", { metadata: {} })).text).toBe("new");
    expect(markOf(thread("a", { status: "interrupted" })).text).toBe("stopped");
    const asked = thread("a", { status: "interrupted", interrupts: { "3-2": [{ superstep: { node: "review", name: "may_pay" } }] } });
    expect(markOf(asked).text).toBe("waits");
    expect(placeText(asked, { step: 3, next: ["review"] })).toBe("step 3, asked by review");
    expect(placeText(thread("a"), undefined)).toBe("");
    expect(placeText(thread("a"), { step: 4, next: ["w", "w", "x", "y", "z"] })).toBe("step 4, next w, x and 2 more");
    expect(placeText(thread("a", { status: "busy" }), { step: 2, next: ["tick"], running: [{ node: "tick" }] })).toBe("step 2, runs tick");
    expect(markOf(thread("a", { status: "interrupted" }), { status: "needs-migration" }).text).toBe("needs migration");
    expect(placeText(thread("a", { status: "error", error: { error: "Failed", message: "no disk\nat x" } }), undefined)).toBe("no disk");
  });

  test("has a cost in dollars", () => {
    expect([0, 1500, 12_345, 3_400_000, 1_234_567_890].map(costText)).toEqual(["$0", "$0.0015", "$0.01", "$3.40", "$1,234.57"]);
  });
});

test("a search names only what is wanted", () => {
  expect(searchBody({ search: " tea ", status: "", graph: "" })).toEqual({ search: "tea" });
  expect(searchBody({ search: "", status: "busy", graph: "order" })).toEqual({ status: "busy", metadata: { graph_id: "order" } });
});

test("what became of several threads is said once", () => {
  expect(outcomeText("deleted", [{ thread: "a", error: null }])).toBe("1 thread deleted.");
  expect(outcomeText("deleted", [{ thread: "a", error: null }, { thread: "b", error: "runs" }])).toBe("1 thread deleted; 1 was not:");
});
