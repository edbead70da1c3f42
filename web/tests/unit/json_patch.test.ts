import { expect, test } from "vitest";

import type { PatchEdit } from "../../src/api/debug_types";
import type { Json } from "../../src/api/types";
import { applyPatch } from "../../src/fold/json_patch";
import { levelOf } from "../../src/fold/level";

const CASES: [Json, PatchEdit[], Json][] = [
  [{ a: 1 }, [{ op: "replace", path: "/a", value: 2, old: 1 }], { a: 2 }],
  [{ a: 1 }, [{ op: "remove", path: "/a", old: 1 }], {}],
  [{}, [{ op: "add", path: "/a~1b", value: { c: null } }], { "a/b": { c: null } }],
  [{ l: [1, 3] }, [{ op: "add", path: "/l/1", value: 2 }, { op: "add", path: "/l/-", value: 4 }], { l: [1, 2, 3, 4] }],
  [{ l: [1, 2, 3] }, [{ op: "remove", path: "/l/0", old: 1 }, { op: "replace", path: "/l/1", value: 9, old: 3 }], { l: [2, 9] }],
  [{ l: [{ x: 1 }] }, [{ op: "replace", path: "/l/0/x", value: 2, old: 1 }], { l: [{ x: 2 }] }],
  [{}, [{ op: "replace", path: "/was_null", value: "x", old: null }], { was_null: "x" }],
];

test.each(CASES)("%j after %j", (before, patch, after) => {
  const copy = structuredClone(before);
  expect(applyPatch(before, patch)).toEqual(after);
  expect(before).toEqual(copy);
});

test("a level has its entries in pages", () => {
  const level = levelOf({ a: "tea", b: [1, 2], c: null }, 2, 1);
  expect(level).toMatchObject({ type: "object", count: 3, next: null });
  expect(level.entries?.map(({ key, type, count }) => [key, type, count])).toEqual([["b", "array", 2], ["c", "null", null]]);
  expect(levelOf([1, 2, 3], 2, 0).next).toBe(2);
  expect(levelOf("tea", 2, 0)).toMatchObject({ type: "string", value: "tea", count: 3 });
});
