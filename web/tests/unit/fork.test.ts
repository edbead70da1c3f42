import { describe, expect, test } from "vitest";

import { overwrites } from "../../src/fold/fork";

describe("values of a fork", () => {
  test("take the place of those that are there", () => {
    expect(overwrites({ n: 40, notes: ["a"], map: { a: 1 }, none: null })).toEqual({ n: { $overwrite: 40 }, notes: { $overwrite: ["a"] }, map: { $overwrite: { a: 1 } }, none: { $overwrite: null } });
  });
  test("are left alone if they say so themselves", () => {
    expect(overwrites({ n: { $overwrite: 40 }, odd: { $overwrite: 1, b: 2 } })).toEqual({ n: { $overwrite: 40 }, odd: { $overwrite: { $overwrite: 1, b: 2 } } });
  });
});
