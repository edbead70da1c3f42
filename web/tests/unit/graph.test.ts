import { describe, expect, test } from "vitest";

import { findTask, nextNodes, nodeStates, readDrawing, showBoxes, topologyKey, type Position } from "../../src/fold/graph";
import { curve, layOut } from "../../src/fold/layout";
import { nearest } from "../../src/fold/nearest";
import { at, checkpoint, order, task } from "./run_fixtures";

const node = (id: string, name: string) => ({ id, type: "runnable", data: { id: ["superstep", "node", name], name } });
const NESTED = {
  nodes: [node("__start__", "__start__"), node("child:inner_a", "inner_a"), node("child:inner_b", "inner_b"), node("first", "first"), node("last", "last"), { id: "__end__" }],
  edges: [
    { source: "child:inner_a", target: "child:inner_b" },
    { source: "__start__", target: "first" },
    { source: "first", target: "child:inner_a" },
    { source: "child:inner_b", target: "last" },
    { source: "last", target: "first", conditional: true, data: "again" },
    { source: "last", target: "__end__" },
  ],
};

describe("a drawing", () => {
  const whole = readDrawing(NESTED);

  test("has a box for each subgraph", () => {
    expect(whole.boxes).toEqual([{ id: "child", name: "child", parent: null, kind: "box" }]);
    expect(whole.nodes.find(({ id }) => id === "child:inner_a")).toEqual({ id: "child:inner_a", name: "inner_a", parent: "child", kind: "node" });
    expect(whole.nodes.map(({ kind }) => kind)).toEqual(["start", "node", "node", "node", "node", "end"]);
  });

  test("a closed box is a node, to which the edges of what is in it lead", () => {
    const shown = showBoxes(whole, new Set());
    expect(shown.nodes.map(({ id }) => id)).toEqual(["__start__", "first", "last", "__end__", "child"]);
    expect(shown.edges.map(({ source, target }) => `${source} ${target}`)).toEqual(["__start__ first", "first child", "child last", "last first", "last __end__"]);
    expect(shown.boxes).toEqual([]);
  });

  test("an open box has its nodes in it", () => {
    const shown = showBoxes(whole, new Set(["child"]));
    expect(shown.boxes.map(({ id }) => id)).toEqual(["child"]);
    expect(shown.nodes).toHaveLength(6);
    expect(topologyKey(shown)).not.toBe(topologyKey(showBoxes(whole, new Set())));
  });

  test("a box in a closed box is not shown", () => {
    const deep = readDrawing({ nodes: [node("a:b:c", "c"), node("a:d", "d")], edges: [{ source: "a:d", target: "a:b:c" }] });
    expect(showBoxes(deep, new Set(["a:b"])).nodes.map(({ id }) => id)).toEqual(["a"]);
    expect(showBoxes(deep, new Set(["a"])).nodes.map(({ id }) => id)).toEqual(["a:d", "a:b"]);
    expect(showBoxes(deep, new Set(["a"])).edges).toMatchObject([{ source: "a:d", target: "a:b" }]);
  });

  test("edges that fall together keep all their labels, and are conditional only if all are", () => {
    const drawing = { nodes: [node("a", "a"), node("b:x", "x"), node("b:y", "y")], edges: [{ source: "a", target: "b:x", conditional: true, data: "one" }, { source: "a", target: "b:y", data: "two" }] };
    expect(showBoxes(readDrawing(drawing), new Set()).edges).toEqual([{ source: "a", target: "b", isConditional: false, label: "one, two" }]);
  });

  test("a node that leads to itself keeps its edge", () => {
    const loop = readDrawing({ nodes: [node("tick", "tick")], edges: [{ source: "tick", target: "tick", conditional: true }] });
    expect(showBoxes(loop, new Set()).edges).toHaveLength(1);
  });
});

describe("states of nodes", () => {
  const position = (more: Partial<Position> = {}): Position => ({ line: order().reverse(), isNewest: true, isRunning: false, running: [], ...more });

  test("what ran and what waits", () => {
    expect(Object.fromEntries(nodeStates(position()))).toEqual({ __start__: "ran", Check: "ran", Pack: "ran", Approve: "waits" });
  });

  test("at a checkpoint of the past, its own tasks are next", () => {
    const past = position({ line: order().reverse().slice(0, 3), isNewest: false });
    expect(Object.fromEntries(nodeStates(past))).toEqual({ __start__: "ran", Check: "ran" });
    expect([...nextNodes(past)]).toEqual(["Pack"]);
    expect(nextNodes(position()).size).toBe(0);
  });

  test.each([
    ["running is more than failed", ["pending", "failed"], true, "running"],
    ["a failure is more than what ran", ["done", "failed"], false, "failed"],
    ["a question is more than a failure", ["failed", "interrupted"], false, "waits"],
    ["what is pending without a run has no state", ["pending"], false, undefined],
  ] as const)("of several tasks: %s", (_, statuses, isRunning, expected) => {
    const tasks = statuses.map((status, nth) => task(`2-${nth}`, "Pack", null, { status }));
    expect(nodeStates(position({ line: [checkpoint(2, 1, 0, tasks)], isRunning })).get("Pack")).toBe(expected);
  });

  test("a node that is to run again keeps what it was", () => {
    const line = [checkpoint(2, 1, 0, [task("2-0", "Pack", [0, 1])]), checkpoint(3, 2, 1, [task("3-0", "Pack", null, { status: "pending" })])];
    expect(nodeStates(position({ line })).get("Pack")).toBe("ran");
  });

  test("tasks that the server says are running do, in subgraphs too", () => {
    const line = [checkpoint(2, 1, 0, [task("2-0", "Pack", null, { status: "pending" }), task("2-1", "Check", null, { status: "pending" })])];
    const states = nodeStates(position({ line, isRunning: true, running: [{ node: "Pack", started_at: at(0) }, { node: "Pack/Box" }] }));
    expect(Object.fromEntries(states)).toEqual({ Pack: "running", "Pack:Box": "running" });
  });
});

describe("the task of a node", () => {
  const line = order().reverse();

  test("is the newest one, and of several one that is not done", () => {
    expect(findTask("Check", line, new Map())).toMatchObject({ checkpoint: 2, task: { id: "2-0" }, inside: null });
    const failed = checkpoint(5, 4, 3, [task("5-0", "Pack", [0, 1]), task("5-1", "Pack", [0, 1], { status: "failed" })]);
    expect(findTask("Pack", [...line, failed], new Map())?.task.id).toBe("5-1");
    expect(findTask("Ship", line, new Map())).toBeNull();
  });

  test("is in a subgraph if that is known", () => {
    const inside = (id: number) => [checkpoint(id, null, -1, [task(`${id}-0`, "Box", [0, 1], { path: ["Pack", "Box"] })])];
    expect(findTask("Pack:Box", line, new Map([["3:3-0", inside(8)], ["3:3-1", inside(9)]]))).toMatchObject({ checkpoint: 9, inside: "3:3-1" });
  });
});

describe("a layout", () => {
  test("has a place for each node, from left to right or from top to bottom", () => {
    const shown = showBoxes(readDrawing(NESTED), new Set());
    const wide = layOut(shown, "LR");
    const x = (id: string): number => wide.nodes.find((place) => place.id === id)?.x ?? NaN;
    expect(x("__start__")).toBeLessThan(x("first"));
    expect(x("first")).toBeLessThan(x("child"));
    const tall = layOut(shown, "TB");
    expect(tall.height).toBeGreaterThan(tall.width);
    expect(wide.edges.every(({ path }) => path.startsWith("M"))).toBe(true);
  });

  test("a box is around its nodes, below its heading", () => {
    const { nodes, boxes, x, y, width, height } = layOut(showBoxes(readDrawing(NESTED), new Set(["child"])), "LR");
    const [box] = boxes;
    for (const id of ["child:inner_a", "child:inner_b"]) {
      const place = nodes.find((one) => one.id === id);
      expect(place!.x).toBeGreaterThanOrEqual(box!.x);
      expect(place!.y).toBeGreaterThanOrEqual(box!.y + 26);
      expect(place!.y + place!.height).toBeLessThanOrEqual(box!.y + box!.height);
    }
    expect(box!.y).toBeGreaterThanOrEqual(y);
    expect(box!.x + box!.width).toBeLessThanOrEqual(x + width);
    expect(box!.y + box!.height).toBeLessThanOrEqual(y + height);
  });

  test("an edge that leads back to its node is below it, in the drawing", () => {
    const { nodes, edges, y, height } = layOut(readDrawing({ nodes: [node("tick", "tick")], edges: [{ source: "tick", target: "tick", conditional: true, data: "Again" }] }), "LR");
    const bottom = nodes[0]!.y + nodes[0]!.height;
    expect(edges[0]?.label?.y).toBeGreaterThan(bottom);
    expect(y + height).toBeGreaterThan(edges[0]!.label!.y);
  });

  test("is the same each time", () => {
    const shown = showBoxes(readDrawing(NESTED), new Set(["child"]));
    expect(layOut(shown, "LR")).toEqual(layOut(shown, "LR"));
  });

  test("a path goes through the middles between its points", () => {
    expect(curve([{ x: 0, y: 0 }, { x: 10, y: 0 }])).toBe("M0 0L10 0");
    expect(curve([{ x: 0, y: 0 }, { x: 10, y: 0 }, { x: 10, y: 10 }])).toBe("M0 0L5 0 Q10 0 10 5L10 10");
    expect(curve([])).toBe("");
  });
});

test("an arrow key leads to the nearest place in its direction", () => {
  const place = (id: string, x: number, y: number) => ({ id, x, y, width: 10, height: 10 });
  const places = [place("a", 0, 0), place("b", 50, 5), place("c", 20, 80), place("d", 100, 0)];
  expect(nearest(places, "a", "ArrowRight")).toBe("b");
  expect(nearest(places, "a", "ArrowDown")).toBe("c");
  expect(nearest(places, "a", "ArrowLeft")).toBeNull();
  expect(nearest(places, "a", "Enter")).toBeNull();
});
