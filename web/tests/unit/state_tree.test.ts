import { describe, expect, test } from "vitest";

import type { ValueLevel } from "../../src/api/run_types";
import { childPath, joinLevel, keyTarget, NO_CHANGES, parentPath, readChanges, sizeText, treeRows } from "../../src/fold/state_tree";

const ROOT: ValueLevel = {
  path: "",
  type: "object",
  size: 60,
  count: 3,
  entries: [
    { key: "item", type: "string", count: 3, size: 5, preview: "tea" },
    { key: "log", type: "array", count: 3, size: 30, preview: "" },
    { key: "empty", type: "object", count: 0, size: 2, preview: "" },
  ],
  next: null,
};
const LOG: ValueLevel = {
  path: "/log",
  type: "array",
  size: 30,
  count: 3,
  entries: [
    { key: "0", type: "string", count: 7, size: 9, preview: "checked" },
    { key: "1", type: "string", count: 4000, size: 4002, preview: "packed" },
  ],
  next: 2,
};
const levels = new Map([["", ROOT], ["/log", LOG]]);

describe("rows", () => {
  test("are those of open parts", () => {
    const rows = treeRows(levels, new Set(), NO_CHANGES);
    expect(rows.map(({ name, preview, count, isOpen }) => [name, preview, count, isOpen])).toEqual([["item", '"tea"', null, false], ["log", "[3]", 3, false], ["empty", "{}", null, false]]);
    expect(rows.map(({ position, siblings, level }) => [position, siblings, level])).toEqual([[1, 3, 1], [2, 3, 1], [3, 3, 1]]);
  });

  test("of an open list follow it, and the last one stands for what is not loaded", () => {
    const rows = treeRows(levels, new Set(["/log"]), NO_CHANGES);
    expect(rows.map(({ path, level }) => [path, level])).toEqual([["/item", 1], ["/log", 1], ["/log/0", 2], ["/log/1", 2], ["/log\n", 2], ["/empty", 1]]);
    expect(rows[3]).toMatchObject({ preview: '"packed…', isCut: true });
    expect(rows[4]?.more).toEqual({ parent: "/log", after: 2 });
  });

  test("of a part that is not loaded say so", () => {
    expect(treeRows(new Map([["", ROOT]]), new Set(["/log"]), NO_CHANGES)[1]).toMatchObject({ isOpen: true, isLoading: true });
  });

  test("a page is added to a level", () => {
    const more = { ...LOG, entries: [{ key: "2", type: "null" as const, size: 4, preview: "null" }], next: null };
    expect(joinLevel(LOG, more).entries?.map(({ key }) => key)).toEqual(["0", "1", "2"]);
    expect(joinLevel(undefined, more)).toBe(more);
  });
});

describe("changes", () => {
  const change = (patch: Parameters<typeof readChanges>[0][number]["patch"]) => readChanges([{ channel: "log", change: "changed", patch }]);
  const marks = (patch: Parameters<typeof change>[0]) => Object.fromEntries([...change(patch).at].map(([path, { change }]) => [path, change]));

  test("what was appended is at the end of the list", () => {
    const changes = change([{ op: "add", path: "/log/-", value: "packed" }, { op: "add", path: "/log/-", value: "sent" }]);
    const whole = { ...LOG, entries: [...(LOG.entries ?? []), { key: "2", type: "string" as const, count: 4, size: 6, preview: "sent" }], next: null };
    const rows = treeRows(new Map([["", ROOT], ["/log", whole]]), new Set(["/log"]), changes);
    expect(rows.map(({ path, change }) => [path, change])).toEqual([["/item", null], ["/log", "inside"], ["/log/0", null], ["/log/1", "added"], ["/log/2", "added"], ["/empty", null]]);
  });

  test("a value that was replaced says what it was", () => {
    const changes = readChanges([{ channel: "item", change: "changed", patch: [{ op: "replace", path: "/item", value: "tea", old: null }] }]);
    expect(treeRows(levels, new Set(), changes)[0]).toMatchObject({ change: "changed", was: "null" });
  });

  test("edits of a list move the places of later ones", () => {
    expect(marks([{ op: "replace", path: "/log/2/name", value: 1, old: 0 }, { op: "add", path: "/log/0", value: 5 }])).toEqual({ "/log": "inside", "/log/0": "added", "/log/3": "inside", "/log/3/name": "changed" });
    expect(marks([{ op: "replace", path: "/log/2", value: 1, old: 0 }, { op: "remove", path: "/log/1", old: 5 }])).toEqual({ "/log": "inside", "/log/1": "changed" });
    expect(marks([{ op: "replace", path: "/log/1/name", value: 1, old: 0 }, { op: "remove", path: "/log/1", old: 5 }])).toEqual({ "/log": "inside" });
  });

  test("what is gone is a row of its own", () => {
    const changes = readChanges([{ channel: "old", change: "removed", patch: [{ op: "remove", path: "/old", old: 7 }] }]);
    expect(treeRows(levels, new Set(), changes).at(-1)).toMatchObject({ name: "old", change: "removed", was: "7" });
  });

  test("a secret and a new channel are marked as a whole", () => {
    const changes = readChanges([{ channel: "key", change: "secret", patch: [] }, { channel: "item", change: "added", patch: [{ op: "add", path: "/item", value: "tea" }] }]);
    expect([...changes.at]).toEqual([["/key", { change: "changed", was: null }], ["/item", { change: "added", was: null }]]);
  });
});

test("paths are JSON pointers", () => {
  expect(childPath("/a", "b/c~d")).toBe("/a/b~1c~0d");
  expect([parentPath("/a/b"), parentPath("/a"), parentPath("")]).toEqual(["/a", "", ""]);
});

test("keys lead as the patterns of ARIA say", () => {
  const rows = treeRows(levels, new Set(["/log"]), NO_CHANGES);
  expect(["ArrowDown", "ArrowUp", "Home", "End"].map((key) => keyTarget(rows, 1, key))).toEqual([2, 0, 0, 5]);
  expect([keyTarget(rows, 1, "ArrowRight"), keyTarget(rows, 1, "ArrowLeft")]).toEqual([2, null]);
  expect([keyTarget(rows, 3, "ArrowRight"), keyTarget(rows, 3, "ArrowLeft"), keyTarget(rows, 0, "ArrowLeft")]).toEqual([null, 1, null]);
});

test.each([[812, "812 B"], [4200, "4.2 KB"], [42_000, "42 KB"], [10_000_000, "10 MB"]])("%i bytes are %s", (bytes, text) => expect(sizeText(bytes)).toBe(text));
