import { expect, test } from "vitest";

import { SERVER, serverAt } from "../../src/api/address";

test.each([
  ["/ui/", ""],
  ["/ui/activity_worker.js", ""],
  ["/agents/ui/threads/a", "/agents"],
  ["/home/ada/run.html", ""],
  ["srcdoc", ""],
  ["", ""],
])("the server of a page at %j is below %j", (path, server) => {
  expect(serverAt(path)).toBe(server);
});

test("a program without a location has no prefix", () => {
  expect(SERVER).toBe("");
});
