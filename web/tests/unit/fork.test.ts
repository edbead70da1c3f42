import { describe, expect, test } from "vitest";

import { againText, nodeText, overwrites, tasksAgain, valuesProblem } from "../../src/fold/fork";
import { order } from "./run_fixtures";

describe("values of a fork", () => {
  test("take the place of those that are there", () => {
    expect(overwrites({ n: 40, notes: ["a"], map: { a: 1 }, none: null })).toEqual({ n: { $overwrite: 40 }, notes: { $overwrite: ["a"] }, map: { $overwrite: { a: 1 } }, none: { $overwrite: null } });
  });
  test("are left alone if they say so themselves", () => {
    expect(overwrites({ n: { $overwrite: 40 }, odd: { $overwrite: 1, b: 2 } })).toEqual({ n: { $overwrite: 40 }, odd: { $overwrite: { $overwrite: 1, b: 2 } } });
  });
});

describe("what cannot be the values of a fork", () => {
  test.each([
    ["nothing", undefined, ["n"], null],
    ["channels", { n: 1 }, ["n", "notes"], null],
    ["channels that are not known", { n: 1 }, null, null],
    ["a name that is none", { n: 1, m: 2 }, ["n", "notes"], "`m` is no channel: n, notes."],
    ["a list", [1], ["n"], 'This must be an object of channels, as {"topic": "tides"}.'],
  ])("%s", (_, values, channels, problem) => expect(valuesProblem(values, channels)).toBe(problem));
});

describe("what runs again", () => {
  const line = order().reverse();

  test.each([
    [1, ["Check, with 1 effect or recorded value", "Pack × 2", "Approve"], "4 recorded tasks would run again, with 1 effect or recorded value."],
    [3, ["Pack × 2", "Approve"], "3 recorded tasks would run again."],
    [4, ["Approve"], "1 recorded task would run again."],
    [5, [], "No task is recorded from there on."],
  ])("from checkpoint %i", (from, nodes, text) => {
    const again = tasksAgain(line, from);
    expect([again.nodes.map(nodeText), againText(again)]).toEqual([nodes, text]);
  });
});
