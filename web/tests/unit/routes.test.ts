import { describe, expect, test } from "vitest";

import { parseRoute, routePath, type Route } from "../../src/routing/routes";

const ADDRESSES: [string, Route][] = [
  ["", { view: "inbox" }],
  ["threads", { view: "threads", search: "" }],
  ["threads?q=tea+pot", { view: "threads", search: "tea pot" }],
  ["threads/order-7", { view: "thread", thread: "order-7" }],
  ["threads/a%2Fb%20c", { view: "thread", thread: "a/b c" }],
  ["threads/order-7/checkpoints/3", { view: "thread", thread: "order-7", checkpoint: "3" }],
  ["threads/order-7/tasks/3-0", { view: "task", thread: "order-7", task: "3-0" }],
  ["threads/order-7/checkpoints/3/tasks/3-0", { view: "task", thread: "order-7", checkpoint: "3", task: "3-0" }],
  ["threads/order-7/diff/3..5", { view: "diff", thread: "order-7", from: "3", to: "5" }],
  ["threads/order-7/diff/3..5@order%2F8", { view: "diff", thread: "order-7", from: "3", to: "5", other: "order/8" }],
  ["start", { view: "start" }],
  ["start/code-task", { view: "start", graph: "code-task" }],
  ["start/code-task?from=order+7%2F8", { view: "start", graph: "code-task", from: "order 7/8" }],
  ["start/code-task?thread=order-7", { view: "start", graph: "code-task", thread: "order-7" }],
  ["start?thread=order-7", { view: "start", thread: "order-7" }],
  ["spend", { view: "spend" }],
  ["settings", { view: "settings" }],
];

describe("an address", () => {
  test.each(ADDRESSES)("%s is read as its view", (path, route) => expect(parseRoute(path)).toEqual(route));
  test.each(ADDRESSES)("%s is written as it is read", (path, route) => expect(routePath(route)).toBe(path));

  test.each(["nothing", "threads/a/b", "threads/a/checkpoints", "threads/a/diff/3", "threads/a/diff/x..5", "spend/more", "threads/%E0%A4%A"])(
    "%s that no view has is unknown",
    (path) => expect(parseRoute(path)).toEqual({ view: "unknown", path }),
  );
});
