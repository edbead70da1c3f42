// What was spent, and how busy the server is.

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { chromiumPath, closeBrowser, expectSound, lookAt, openPage, picture } from "./browser";
import { PAGE_PROGRAM, TestServer } from "./server";

describe.skipIf(chromiumPath() === undefined)("the spend", () => {
  const server = new TestServer({ program: PAGE_PROGRAM });
  beforeAll(() => server.start());
  afterAll(async () => {
    await closeBrowser();
    await server.close();
  });

  const article = (thread: string): Promise<unknown> => server.run(thread, "article", { topic: "tides", chapters: 3 });

  test("teaches how cost is recorded where there is none, and looks right everywhere", async () => {
    await lookAt(`${server.address}/ui/spend`, "spend-empty", (page) => page.getByRole("heading", { name: "No cost is recorded yet" }).waitFor());
  });

  test("counts the open questions, with the oldest, and leads to them", async () => {
    const page = await openPage(`${server.address}/ui/spend`);
    const questions = page.locator(".spend-figure", { hasText: "Open questions" });
    await questions.getByText("0", { exact: true }).waitFor();
    await server.run("asked", "release", { version: "1.2" });
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

  test("shows what was spent as soon as a run has ended, by graph, role, day and task, and looks right everywhere", async () => {
    const page = await openPage(`${server.address}/ui/spend`);
    await page.getByRole("heading", { name: "No cost is recorded yet" }).waitFor();
    await article("one");
    const rows = (title: string) => page.getByRole("table", { name: title }).getByRole("row");
    await rows("By graph").filter({ hasText: "article" }).filter({ hasText: "$0.04" }).waitFor();
    await rows("By role").filter({ hasText: "writer" }).filter({ hasText: "$0.02" }).waitFor();
    await rows("By task").filter({ hasText: "chapter 3" }).filter({ hasText: "$0.01" }).waitFor();
    await page.locator(".spend-figure", { hasText: "Tokens without a price" }).getByText("2,030", { exact: true }).waitFor();
    expect(await rows("By day").count()).toBe(2);
    await page.getByRole("combobox", { name: "Period" }).selectOption({ label: "Last 24 hours" });
    await rows("By graph").filter({ hasText: "$0.04" }).waitFor();
    await rows("By task").filter({ hasText: "chapter 3" }).getByRole("link", { name: "one" }).click();
    await page.getByRole("heading", { level: 1, name: "one" }).waitFor();
    expect(page.errors).toEqual([]);
    await page.context().close();
    await article("two \u202eowt");
    await lookAt(`${server.address}/ui/spend`, "spend", async (shown) => {
      await shown.getByRole("table", { name: "By graph" }).waitFor();
      await shown.getByRole("table", { name: "By task" }).getByRole("link", { name: "two U+202Eowt" }).first().waitFor();
    });
  });

  test("a thread, a run and its tasks show what they cost, and what their nodes say of them", async () => {
    await article("told");
    const page = await openPage(`${server.address}/ui/threads?q=told`);
    await page.getByRole("row", { name: /told/ }).getByText("$0.04").waitFor();
    await page.goto(`${server.address}/ui/threads/told`);
    await page.getByText("$0.0365").first().waitFor();
    const timeline = page.getByRole("list", { name: "Timeline" });
    await timeline.getByText(/^The chapter has one sentence\. · \$0\.0120/).waitFor();
    await timeline.getByText(/^an outline about tides · \$0\.0125/).waitFor();
    await expectSound(page);
    await timeline.getByRole("link", { name: /^chapter, chapter 2,/ }).click();
    await page.locator(".task-header").getByText("chapter 2", { exact: true }).waitFor();
    await page.getByText("The chapter has one sentence.").first().waitFor();
    await page.locator(".task-facts").getByText("$0.0080").waitFor();
    await expectSound(page);
    await page.context().close();
  });

  test("on a phone, the summary of a task is below its bar", async () => {
    await article("phone");
    const page = await openPage(`${server.address}/ui/threads/phone`, { width: 360 });
    const rows = page.getByRole("list", { name: "Timeline" }).getByRole("listitem");
    const row = rows.filter({ has: page.getByRole("link", { name: /^chapter, chapter 2,/ }) });
    const summary = row.locator(".timeline-summary");
    await summary.waitFor();
    expect(await summary.textContent()).toBe("The chapter has one sentence. · $0.0080");
    await page.getByRole("button", { name: "Stretch the timeline" }).click();
    const [line, bar] = [await summary.boundingBox(), await row.locator(".timeline-track").boundingBox()];
    if (line === null || bar === null) throw new Error("nothing is shown");
    expect(line.y).toBeGreaterThanOrEqual(bar.y + bar.height);
    expect([line.x >= 0, line.x + line.width <= 360]).toEqual([true, true]);
    await row.scrollIntoViewIfNeeded();
    await picture(page, "run-summaries-360");
    await expectSound(page);
    await page.context().close();
  });
});
