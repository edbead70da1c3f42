// The title of the page.

import { expect, test } from "vitest";

import { titleOf } from "../../src/routing/title";
import { parseRoute } from "../../src/routing/routes";

test.each([
  ["", 3, "(3) Inbox · superstep"],
  ["", 0, "Inbox · superstep"],
  ["threads?q=tea", 0, "Threads · superstep"],
  ["threads/order%207/checkpoints/3", 1, "(1) order 7 · superstep"],
  ["threads/order-7/tasks/3-0", 0, "order-7 · superstep"],
  ["threads/order-7/diff/1..2", 0, "order-7 · superstep"],
  ["threads/a%E2%80%AEb", 0, "a[U+202E]b · superstep"],
  ["start/chat", 0, "Start chat · superstep"],
  ["start/chat?thread=order-7", 0, "Start chat · superstep"],
  ["settings", 0, "Settings · superstep"],
  ["no/such/view", 0, "Not found · superstep"],
])("of %j with %i", (address, waiting, title) => {
  expect(titleOf(parseRoute(address), waiting)).toBe(title);
});
