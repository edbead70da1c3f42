// A task: what it read, wrote and asked, and what it does at the moment.

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { chromiumPath, closeBrowser, expectSound, lookAt, openPage, picture } from "./browser";
import { PAGE_PROGRAM, TestServer } from "./server";

describe.skipIf(chromiumPath() === undefined)("a task", () => {
  const server = new TestServer();
  beforeAll(async () => {
    await server.start();
    await server.run("tea", "approval", { request: "<img src=x onerror=alert(1)> tea" });
    await server.send("POST", "/threads/tea/runs/wait", { assistant_id: "approval", command: { resume: "yes", by: "ada", note: "well done" } });
    await server.run("broken", "fails", { reason: "no water" }).catch(() => undefined);
    await server.run("open", "approval", { request: "buy tea" });
  });
  afterAll(async () => {
    await closeBrowser();
    await server.close();
  });

  /** Returns the address of the newest task of a node. */
  async function taskOf(thread: string, node: string, at = server): Promise<string> {
    const { checkpoints } = await at.send<{ checkpoints: { checkpoint: number; tasks: { id: string; node: string }[] }[] }>("GET", `/threads/${thread}/checkpoints`);
    for (const { checkpoint, tasks } of checkpoints) for (const task of tasks) if (task.node === node) return `${at.address}/ui/threads/${thread}/checkpoints/${checkpoint}/tasks/${task.id}`;
    throw new Error(`there is no task of ${node}`);
  }

  test("looks right everywhere", async () => {
    await lookAt(await taskOf("tea", "review"), "task", (page) => page.getByRole("list", { name: "Journal" }).waitFor());
  });

  test("has what it read, wrote, asked and was answered", async () => {
    const page = await openPage(await taskOf("tea", "review"));
    await page.getByRole("heading", { level: 1, name: "review" }).waitFor();
    const read = page.getByRole("tree", { name: "Read" });
    await read.getByRole("treeitem", { name: /^proposal/ }).waitFor();
    const journal = page.getByRole("list", { name: "Journal" });
    await journal.getByText("approve?").waitFor();
    await journal.getByText("ada").waitFor();
    await journal.getByText("well done").waitFor();
    expect(await page.locator("img").count()).toBe(0);
    await expectSound(page);
    await page.context().close();
  });

  test("is found without its checkpoint, and leads back to its run", async () => {
    const address = await taskOf("tea", "propose");
    const page = await openPage(address.replace(/\/checkpoints\/\d+/, ""));
    await page.getByRole("heading", { level: 1, name: "propose" }).waitFor();
    await page.getByRole("link", { name: "tea", exact: true }).click();
    await page.getByRole("heading", { level: 1, name: "tea" }).waitFor();
    await page.goBack();
    await page.getByRole("heading", { level: 1, name: "propose" }).waitFor();
    await page.context().close();
  });

  test("that failed has its attempts and their errors", async () => {
    const page = await openPage(await taskOf("broken", "boom"));
    await page.getByText("boom: no water").first().waitFor();
    await page.getByText("failed", { exact: true }).first().waitFor();
    await expectSound(page);
    await page.context().close();
  });

  test("that asks is answered where it is shown", async () => {
    const page = await openPage(await taskOf("open", "review"));
    await page.getByRole("article").getByRole("group").waitFor();
    await page.getByText("waits for an answer").waitFor();
    await server.send("POST", "/threads/open/runs/wait", { assistant_id: "approval", command: { resume: "no" } });
    await page.getByText("ran", { exact: true }).waitFor();
    await page.getByText("Wrote").waitFor();
    await page.context().close();
  });

  test("has its effects with arguments, result and key, and its recorded values", async () => {
    const paying = await new TestServer({ program: PAGE_PROGRAM }).start();
    await paying.run("tides", "article", { topic: "tides", chapters: 1 });
    await paying.run("bill", "payment", { title: "the tea", cents: 500 });
    await lookAt(await taskOf("tides", "chapter", paying), "task-effect", async (page) => {
      const effect = page.getByRole("list", { name: "Journal" }).getByRole("listitem");
      await effect.getByText("effect", { exact: true }).waitFor();
      await effect.getByText("write", { exact: true }).waitFor();
      const facts = async (): Promise<[string, string][]> => {
        const [names, values] = [await effect.locator("dt").allTextContents(), await effect.locator("dd").allTextContents()];
        return names.map((name, at) => [name, values[at] ?? ""]);
      };
      expect(await facts()).toEqual([["Arguments", "chapter 1"], ["Result", "The text of chapter 1."], ["Key", expect.stringMatching(/^\S{8,}$/)]]);
    });
    const page = await openPage(await taskOf("bill", "pay", paying));
    const journal = page.getByRole("list", { name: "Journal" });
    const value = journal.getByRole("listitem").filter({ hasText: "recorded" });
    await value.getByText("seconds", { exact: true }).waitFor();
    await value.getByText("86400", { exact: true }).waitFor();
    await expectSound(page);
    await page.context().close();
    await paying.close();
  });

  test("that runs says so, and that it has ended without a reload", async () => {
    const body = { assistant_id: "slow", if_not_exists: "create", input: { steps: 3, ms: 4000 } };
    await server.send("POST", "/threads/slow/runs", body);
    const page = await openPage(`${server.address}/ui/threads/slow`);
    await page.getByRole("group", { name: "Graph" }).getByRole("button", { name: "tick running" }).click();
    await page.getByRole("heading", { level: 1, name: "tick" }).waitFor();
    await page.getByText("running", { exact: true }).waitFor();
    await page.getByText("ran", { exact: true }).waitFor({ timeout: 20_000 });
    expect(page.errors).toEqual([]);
    await page.context().close();
  });

  test("that was started in the page shows what it emits, and the message that it writes after an answer", async () => {
    const writing = await new TestServer({ program: PAGE_PROGRAM }).start();
    const page = await openPage(`${writing.address}/ui/start/writer`);
    await page.getByRole("textbox", { name: "topic" }).fill("<b>tides</b>");
    await page.getByRole("textbox", { name: "ms" }).fill("400");
    await page.getByRole("textbox", { name: /name/i }).last().fill("report");
    await page.getByRole("button", { name: "Start" }).click();
    const graph = page.getByRole("group", { name: "Graph" });
    await graph.getByRole("button", { name: "outline running" }).click();
    const now = page.getByRole("region", { name: "Happens now" });
    await now.getByText('"section"', { exact: false }).first().waitFor();
    await picture(page, "task-live");
    await page.getByRole("link", { name: "report", exact: true }).click();
    const card = page.getByRole("article", { name: "report" });
    await card.getByRole("textbox", { name: /^Answer/ }).fill("fine", { timeout: 30_000 });
    await card.getByRole("button", { name: "Answer" }).click();
    await graph.getByRole("button", { name: "write running" }).click();
    await now.getByText(/Section 1 is about <b>tides<\/b>\. Section 2/).waitFor();
    expect(page.errors).toEqual([]);
    await page.context().close();
    await writing.close();
  });

  test("that is not there says so", async () => {
    const page = await openPage(`${server.address}/ui/threads/tea/checkpoints/2/tasks/2-99`);
    await page.getByRole("alert").getByText(/2-99/).first().waitFor();
    await page.context().close();
  });
});
