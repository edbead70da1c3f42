import { expect, test } from "vitest";

import type { StateDiff } from "../../src/api/debug_types";
import { changeGroups, isSame, placeText, questionNotes, subgraphNotes } from "../../src/fold/changes";

const side = (checkpoint: number, next: string[] = []) => ({ thread: "t", checkpoint, step: checkpoint, source: "loop", next });

const EMPTY: StateDiff = { from: side(1), to: side(2), channels: [], asked: [], gone: [], subgraphs: [] };

const DIFF: StateDiff = {
  ...EMPTY,
  channels: [
    {
      channel: "log",
      change: "changed",
      patch: [
        { op: "add", path: "/log/-", value: "b" },
        { op: "replace", path: "/log/0", value: 2, old: 1 },
      ],
    },
    { channel: "a/b", change: "secret", patch: [] },
  ],
  asked: [{ id: "1", name: "may_pay", node: "Approve", payload: {} }],
  subgraphs: [
    { node: "Child", diff: { ...EMPTY, channels: [{ channel: "n", change: "removed", patch: [{ op: "remove", path: "/n", old: 3 }] }] } },
    { node: "Other", began: side(7) },
  ],
};

test("changes are listed with their places, those of subgraphs below their nodes", () => {
  expect(changeGroups(DIFF)).toEqual([
    {
      within: [],
      channel: "log",
      rows: [
        { place: "log › end", kind: "added", before: undefined, after: "b" },
        { place: "log › 0", kind: "changed", before: 1, after: 2 },
      ],
    },
    { within: [], channel: "a/b", rows: [{ place: "a/b", kind: "secret", before: undefined, after: undefined }] },
    { within: ["Child"], channel: "n", rows: [{ place: "n", kind: "removed", before: 3, after: undefined }] },
  ]);
});

test("a subgraph that only one checkpoint has is named", () => {
  expect(subgraphNotes(DIFF)).toEqual(["Other has begun (checkpoint 7)"]);
});

test("new questions are named by what asks them", () => {
  expect(questionNotes(DIFF)).toEqual([{ text: "may pay by Approve", kind: "added" }]);
});

test.each([
  [EMPTY, true],
  [DIFF, false],
  [{ ...EMPTY, to: side(2, ["Pay"]) }, false],
])("checkpoints are the same if nothing but their numbers differs", (diff, same) => {
  expect(isSame(diff)).toBe(same);
});

test("escapes of a pointer are read", () => {
  expect(placeText("/a~1b/c~0d/0")).toBe("a/b › c~d › 0");
});
