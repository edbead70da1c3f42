import { describe, expect, test } from "vitest";

import type { Assistant, Json, Schema } from "../../src/api/types";
import { earlierInput, firstValue, freshName, hasForm, limitsOf, parseProblems, placeProblems, scheduleText, startable, stillWrong } from "../../src/fold/start";

function assistant(graph: string, name: string, metadata = {}): Assistant {
  return { assistant_id: name, graph_id: graph, name, description: null, metadata };
}

test("graphs come with their assistants, the graph's own first", () => {
  const found = startable([{ graph: "order", about: "Orders" }], [assistant("order", "careful"), assistant("order", "order", { created_by: "system" }), assistant("chat", "chat")]);
  expect(found.map(({ graph, about, assistants }) => [graph, about, assistants.map(({ name }) => name)])).toEqual([
    ["chat", null, ["chat"]],
    ["order", "Orders", ["order", "careful"]],
  ]);
});

describe("an error of the server", () => {
  test("names its fields", () => {
    expect(parseProblems('input.items[2].count: 999 is greater than the maximum of 255; input.name: "a; b" is too short')).toEqual([
      { path: ["items", 2, "count"], text: "999 is greater than the maximum of 255" },
      { path: ["name"], text: '"a; b" is too short' },
    ]);
  });

  test("names none in another form", () => {
    expect(parseProblems("the thread `a` has an input: input.x: 1")).toEqual([]);
  });

  const schema: Schema = { type: "object", properties: { items: { type: "array", items: { type: "object", properties: { count: { type: "integer" } } } }, free: {} } };

  test("goes to its field, or to the field of JSON that has it", () => {
    const { placed, rest } = placeProblems(parseProblems("input.items[2].count: is large; input.free.a[0]: is odd; input.none: is unknown; input: is no object"), schema);
    expect(placed).toEqual([
      { path: ["items", 2, "count"], text: "is large" },
      { path: ["free"], text: "(at a[0]) is odd" },
    ]);
    expect(rest.map(({ path }) => path)).toEqual([["none"], []]);
  });

  test("leaves with the value that it is about", () => {
    const problems = [{ path: ["a"], text: "x" }, { path: ["b", 0], text: "y" }];
    expect(stillWrong(problems, { a: 1, b: [1] }, { a: 2, b: [1] })).toEqual([problems[1]]);
  });
});

test("limits of an input are found by their names", () => {
  const schema: Schema = {
    type: "object",
    properties: { goal: { type: "string" }, max_cost: { type: "number", default: 5 }, budget: { $ref: "#/$defs/Limits" } },
    $defs: { Limits: { type: "object", properties: { tokens: { type: "integer", description: "In all." } } } },
  };
  expect(limitsOf(schema, { budget: { tokens: 500 } })).toEqual([
    { name: "max_cost", value: "5", about: null },
    { name: "budget.tokens", value: "500", about: "In all." },
  ]);
});

describe("the input of an earlier run", () => {
  const schema: Schema = {
    type: "object",
    required: ["item", "password"],
    properties: {
      item: { type: "string" },
      count: { type: ["integer", "null"] },
      password: { type: "string" },
      buyer: { $ref: "#/$defs/Buyer" },
      is_gift: { type: "boolean", default: false },
    },
    $defs: { Buyer: { type: "object", properties: { name: { type: "string" }, code: { type: "string", writeOnly: true } } } },
  };

  test.each<[string, Json, Json]>([
    ["fills the form", { item: "tea", count: 2 }, { item: "tea", count: 2 }],
    ["has empty values", { item: "tea", count: null }, { item: "tea", count: null }],
    ["leaves out what the server hides", { item: "tea", password: "[secret]", buyer: { name: "Ada", code: "[secret]" } }, { item: "tea" }],
    ["leaves out what is secret by its name or its schema", { item: "tea", password: "p", buyer: { name: "Ada", code: "c" } }, { item: "tea", buyer: { name: "Ada" } }],
    ["is not known if it has other fields", { item: "tea", working_dir: "/home/ada" }, null],
    ["is not known if its values do not fit", { item: { name: "tea" } }, null],
    ["is not known if all of it is secret", { password: "[secret]" }, null],
    ["is not known if it is empty", {}, null],
    ["is not known if there is none", null, null],
  ])("%s", (_, input, filled) => {
    expect(earlierInput(input, schema)).toEqual(filled);
  });

  test("fills a form of JSON too", () => {
    expect(earlierInput({ free: [1], api_key: "k", note: "it is [secret]" }, null)).toEqual({ free: [1] });
  });

  test("comes over the values that the form begins with", () => {
    expect(firstValue(schema, { item: "tea" })).toEqual({ item: "tea", is_gift: false });
    expect(firstValue(schema, null)).toEqual({ is_gift: false });
    expect([firstValue(null, { item: "tea" }), firstValue(null, null)]).toEqual([{ item: "tea" }, undefined]);
  });
});

test("a form needs fields", () => {
  expect([hasForm(null), hasForm({}), hasForm({ type: "object", properties: {} }), hasForm({ type: "object", properties: { a: {} } })]).toEqual([false, false, false, true]);
});

test.each([
  ["0 9 * * 1-5", "Monday to Friday at 09:00"],
  ["30 6,18 * * *", "every day at 06:30, 18:30"],
  ["*/15 * * * *", "every 15 minutes"],
  ["5 */2 * * 0,6", "every 2 hours, 5 min past, every Sunday, Saturday"],
  ["0 0 1 * *", "on day 1 of each month at 00:00"],
  ["0 0 * 12 *", "every day in December at 00:00"],
  ["0 9 *", null],
  ["0 99 * * *", null],
  ["0 9 L * *", null],
])("the schedule %s in words", (schedule, words) => {
  expect(scheduleText(schedule)).toBe(words);
});

test("a new thread is named after its graph", () => {
  expect(freshName("order", new Uint8Array([0, 255]))).toBe("order-00ff");
});
