import { describe, expect, test } from "vitest";

import { branchesOf, checkpointText, isEnough, isOnlyWritten, joinEarlier, joinNewest, lineOf, originText, pageSize } from "../../src/fold/checkpoints";
import { checkpoint, order, task } from "./run_fixtures";

const chain = (from: number, to: number) => Array.from({ length: from - to + 1 }, (_, nth) => checkpoint(from - nth, from - nth - 1 || null, from - nth - 2, []));
const ids = (list: { checkpoint: number }[] | undefined) => list?.map((one) => one.checkpoint);

describe("pages", () => {
  test("the newest page takes the place of what it has", () => {
    const known = { list: chain(6, 3), next: 3 };
    const joined = joinNewest(known, { checkpoints: chain(8, 5), next: 5 });
    expect(ids(joined?.list)).toEqual([8, 7, 6, 5, 4, 3]);
    expect(joined?.next).toBe(3);
  });

  test("a gap is said", () => {
    expect(joinNewest({ list: chain(3, 1), next: null }, { checkpoints: chain(9, 6), next: 6 })).toBeNull();
  });

  test("checkpoints that were removed go", () => {
    const joined = joinNewest({ list: chain(9, 1), next: null }, { checkpoints: chain(4, 3), next: 3 });
    expect(ids(joined?.list)).toEqual([4, 3, 2, 1]);
    expect(ids(joinNewest({ list: chain(9, 1), next: null }, { checkpoints: chain(2, 1), next: null })?.list)).toEqual([2, 1]);
  });

  test("earlier ones come after", () => {
    const joined = joinEarlier({ list: chain(6, 4), next: 4 }, { checkpoints: chain(4, 2), next: 2 });
    expect([ids(joined.list), joined.next]).toEqual([[6, 5, 4, 3, 2], 2]);
  });
});

describe("a thread without a run", () => {
  const written = checkpoint(1, null, -1, [], { source: "update" });

  test("has no checkpoint, or those that were written from outside", () => {
    expect(isOnlyWritten({ list: [], next: null })).toBe(true);
    expect(isOnlyWritten({ list: [written], next: null })).toBe(true);
  });

  test("is told from one that has run, or whose earlier checkpoints are not loaded", () => {
    expect(isOnlyWritten({ list: order(), next: null })).toBe(false);
    expect(isOnlyWritten({ list: [checkpoint(3, 2, 1, [], { source: "fork" }), written], next: null })).toBe(false);
    expect(isOnlyWritten({ list: [written], next: 1 })).toBe(false);
  });
});

describe("a page", () => {
  const wide = (count: number, tasks: number) => chain(count, 1).map((one) => ({ ...one, tasks: Array.from({ length: tasks }, (_, nth) => task(`1-${nth}`, "Node", null)) }));

  test.each([
    ["the first one is small", [], 10],
    ["of checkpoints without tasks is whole", wide(10, 0), 50],
    ["of those with few tasks is whole", wide(10, 60), 50],
    ["of those with many tasks is smaller", wide(10, 100), 30],
    ["has one at least", wide(1, 9000), 1],
  ])("%s", (_, list, size) => expect(pageSize(list)).toBe(size));

  test.each([
    ["all there are", { checkpoints: wide(2, 1), next: null }, true],
    ["a few of many", { checkpoints: wide(10, 1), next: 7 }, false],
    ["a whole page", { checkpoints: wide(50, 1), next: 7 }, true],
    ["few with many tasks", { checkpoints: wide(3, 1000), next: 7 }, true],
  ])("is enough to be shown: %s", (_, page, expected) => expect(isEnough(page)).toBe(expected));
});

describe("the line", () => {
  // 5 follows 2: the branch over 3 and 4 was left.
  const list = [checkpoint(5, 2, 1, []), checkpoint(4, 3, 2, []), checkpoint(3, 2, 1, []), checkpoint(2, 1, 0, []), checkpoint(1, null, -1, [])];

  test("leads by the parents to the newest one", () => expect(ids(lineOf(list))).toEqual([1, 2, 5]));
  test("leads over a checkpoint of a branch that was left", () => expect(ids(lineOf(list, 3))).toEqual([1, 2, 3, 4]));
  test("has beside it the branches that were left, and the main one if a branch is shown", () => {
    expect(branchesOf(list, lineOf(list))).toEqual([{ from: 2, to: 4 }]);
    expect(branchesOf(list, lineOf(list, 3))).toEqual([{ from: 2, to: 5 }]);
    expect(branchesOf([checkpoint(7, 5, 2, []), checkpoint(6, 2, 1, []), ...list.slice(0, -2)], lineOf([checkpoint(7, 5, 2, []), ...list.slice(0, -2)]))).toEqual([{ from: null, to: 6 }, { from: null, to: 4 }]);
    expect(branchesOf([], [])).toEqual([]);
  });
  test("is the main one if the checkpoint is not known", () => expect(ids(lineOf(list, 99))).toEqual([1, 2, 5]));
});

describe("a checkpoint in words", () => {
  const line = order().reverse();

  test.each([
    [0, "checkpoint 1, superstep -1, input"],
    [1, "checkpoint 2, superstep 0, input"],
    [2, "checkpoint 3, superstep 1, after Check"],
    [3, "checkpoint 4, superstep 2, after Pack × 2"],
    [9, "no checkpoint"],
  ])("%i", (position, expected) => expect(checkpointText(line, position)).toBe(expected));

  test("says where it comes from, and does not list a hundred nodes", () => {
    const many = checkpoint(1, null, -1, Array.from({ length: 9 }, (_, nth) => task(`1-${nth}`, `Node${nth}`, null)));
    expect(originText([many, checkpoint(2, 1, 0, [])], 1)).toBe("after Node0, Node1, Node2 and 6 more");
    expect(originText([checkpoint(2, 1, 0, [], { source: "update" })], 0)).toBe("state written from outside");
    expect(originText([checkpoint(2, 1, 0, [], { source: "fork" })], 0)).toBe("start of a branch");
  });
});
