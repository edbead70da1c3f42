// What was spent, and how busy the server is.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";

import { chromiumPath, closeBrowser, lookAt, openPage } from "./browser";
import { TestServer } from "./server";

describe.skipIf(chromiumPath() === undefined)("the spend", () => {
  const server = new TestServer();
  beforeAll(() => server.start());
  // A program built before its server had the route says nothing about the view.
  beforeEach(async ({ skip }) => {
    if ((await fetch(`${server.address}/spend`)).status === 404) skip("the server has no route /spend");
  });
  afterAll(async () => {
    await closeBrowser();
    await server.close();
  });

  test("teaches how cost is recorded where there is none, and looks right everywhere", async () => {
    await lookAt(`${server.address}/ui/spend`, "spend-empty", (page) => page.getByRole("heading", { name: "No cost is recorded yet" }).waitFor());
  });

  test("counts the open questions, with the oldest, and leads to them", async () => {
    const page = await openPage(`${server.address}/ui/spend`);
    const questions = page.locator(".spend-figure", { hasText: "Open questions" });
    await questions.getByText("0", { exact: true }).waitFor();
    await server.run("asked", "approval", { request: "tea" });
    await questions.getByRole("link", { name: "1", exact: true }).click();
    await page.getByRole("heading", { level: 1, name: "Inbox" }).waitFor();
    await page.goBack();
    await questions.getByText(/the oldest from/).waitFor();
    expect(page.errors).toEqual([]);
    await page.context().close();
  });

  test("has the period that is chosen", async () => {
    const page = await openPage(`${server.address}/ui/spend`);
    await page.getByRole("combobox", { name: "Period" }).selectOption({ label: "Last 7 days" });
    await page.getByRole("heading", { name: "Nothing was spent in this time" }).waitFor();
    await page.context().close();
  });
});
