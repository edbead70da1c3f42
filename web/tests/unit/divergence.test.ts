import { describe, expect, test } from "vitest";

import type { Divergence } from "../../src/api/debug_types";
import { divergingNodes, divergingRows, isDiverging } from "../../src/fold/divergence";
import { timelineRows } from "../../src/fold/timeline";
import { checkpoint, order, task } from "./run_fixtures";

const found = (more: Partial<Divergence>): Divergence => ({ checkpoint: 3, step: 2, node: "Pack", what: "the write of `box`", recorded: 1, now: 2, ...more });
const quiet = { isNoiseShown: false, open: new Set<string>(), inside: new Map() };

describe("a divergence in the timeline", () => {
  const rows = timelineRows(order().reverse(), quiet);

  test.each([
    ["nothing", null, []],
    ["all tasks of a node", found({}), ["3:3-0", "3:3-1"]],
    ["one task", found({ task: "3-1" }), ["3:3-1"]],
    ["several nodes", found({ node: "Pack, Ship" }), ["3:3-0", "3:3-1"]],
    ["a checkpoint that is not there", found({ checkpoint: 9 }), []],
  ])("%s", (_, divergence, keys) => expect([...divergingRows(rows, divergence)]).toEqual(keys));

  test("in a subgraph is at its task until that is open", () => {
    const line = [checkpoint(3, 2, 1, [task("3-0", "Child", [0, 9], { has_inside: true })]), checkpoint(7, 3, 2, [task("7-0", "Child", [9, 12], { has_inside: true })])];
    const inside = new Map([["3:3-0", [checkpoint(5, 4, 0, [task("5-0", "Inner", [1, 2])])]]]);
    const divergence = found({ checkpoint: 5, namespace: ["Child"], node: "Inner" });
    expect([...divergingRows(timelineRows(line, quiet), divergence)]).toEqual(["3:3-0"]);
    expect([...divergingRows(timelineRows(line, { ...quiet, open: new Set(["3:3-0"]), inside }), divergence)]).toEqual(["5:5-0"]);
  });
});

describe("a divergence in the graph", () => {
  test.each([
    ["Inner", false],
    ["Child:Inner", true],
    ["Child", true],
    ["Chil", false],
  ])("%s", (id, expected) => expect(isDiverging(id, divergingNodes(found({ namespace: ["Child"], node: "Inner" })))).toBe(expected));
  test("is nowhere without one", () => expect(divergingNodes(null).size).toBe(0));
});
