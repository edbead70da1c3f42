// The names by which scripts and readers of screens find things, view by view, as they are promised to them.

import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { chromiumPath, closeBrowser, openPage } from "./browser";
import { TestServer } from "./server";

const DIFF = "diff --git a/a.rs b/a.rs\n--- a/a.rs\n+++ b/a.rs\n@@ -1,2 +1,2 @@\n let a = 1;\n-let b = 2;\n+let b = 3;\n";

describe.skipIf(chromiumPath() === undefined)("the names of the page", () => {
  const server = new TestServer();
  beforeAll(async () => {
    await server.start();
    await server.run("order 7/ü", "approval", { request: `tea\n${DIFF}` });
    await server.run("squares", "parallel", { items: [1, 2, 3] });
    await server.run("broken", "fails", { reason: "no water" }).catch(() => undefined);
  });
  afterAll(async () => {
    await closeBrowser();
    await server.close();
  });
  const open = (rest: string) => openPage(`${server.address}${rest}`);
  const close = async (page: Page & { errors: string[] }): Promise<void> => {
    expect(page.errors).toEqual([]);
    await page.context().close();
  };

  test("each view has one navigation, one main and one heading", async () => {
    const views = { "/ui/": "Inbox", "/ui/threads": "Threads", "/ui/threads/order%207%2F%C3%BC": "order 7/ü", "/ui/threads/squares/checkpoints/2": "squares", "/ui/start": "Start", "/ui/start/counter": "Start counter", "/ui/spend": "Spend", "/ui/settings": "Settings" };
    for (const [path, heading] of Object.entries(views)) {
      const page = await open(path);
      await page.getByRole("main").getByRole("heading", { level: 1, name: heading, exact: true }).waitFor();
      expect(await page.getByRole("heading", { level: 1 }).count(), path).toBe(1);
      const nav = page.getByRole("navigation", { name: "Main", exact: true });
      for (const name of ["Inbox", "Threads", "Start", "Spend"]) expect(await nav.getByRole("link", { name }).count(), name).toBe(1);
      await close(page);
    }
  });

  test("the policy lets nothing in from elsewhere", async () => {
    const { headers } = await fetch(`${server.address}/ui/`);
    const policy = headers.get("content-security-policy") ?? "";
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toContain("unsafe");
    const sent = await fetch(`${server.address}/`, { headers: { accept: "text/html" }, redirect: "manual" });
    expect([sent.status, sent.headers.get("location")]).toEqual([307, "/ui/"]);
  });

  test("the inbox and a diff in it", async () => {
    const page = await open("/ui/");
    const card = page.getByRole("article", { name: "order 7/ü" });
    const question = card.getByRole("group").first();
    await question.getByRole("button", { name: "Answer", exact: true }).waitFor();
    for (const name of ["Note", "Your name"]) await question.getByRole("textbox", { name, exact: true }).waitFor();
    expect(await card.locator("time[datetime]").count()).toBeGreaterThan(0);
    const changes = question.getByRole("region", { name: "Changes" });
    await changes.getByRole("list", { name: "Files" }).waitFor();
    await changes.getByRole("checkbox", { name: "Seen a.rs" }).waitFor();
    await changes.getByRole("button", { name: "Comment on a.rs line 2", exact: true }).click();
    await changes.getByRole("textbox", { name: "Comment", exact: true }).fill("Why?");
    await changes.getByRole("button", { name: "Add", exact: true }).click();
    await page.getByRole("article", { name: "broken" }).getByRole("button", { name: "Retry", exact: true }).waitFor();
    await close(page);
  });

  test("a run, and what takes it apart", async () => {
    const page = await open("/ui/threads/squares");
    const graph = page.getByRole("group", { name: "Graph", exact: true });
    await graph.getByRole("button", { name: "worker ran", exact: true }).waitFor();
    await page.getByRole("list", { name: "Timeline", exact: true }).getByRole("listitem").first().waitFor();
    expect(await page.getByRole("slider", { name: "Checkpoint", exact: true }).getAttribute("aria-valuetext")).toMatch(/^checkpoint \d+/);
    await page.getByRole("tree", { name: "State", exact: true }).locator('[role="treeitem"][data-changed]').first().waitFor();
    for (const name of ["Verify", "What if", "Rewind", "Fork"]) await page.getByRole("button", { name, exact: true }).waitFor();
    await page.getByRole("button", { name: "Verify", exact: true }).click();
    await expect.poll(() => page.getByRole("status").allTextContents()).toContainEqual(expect.stringMatching(/same|matches|no difference|reproduces/i));
    await page.getByRole("button", { name: "Fork", exact: true }).click();
    for (const name of ["Name", "State"]) await page.getByRole("textbox", { name, exact: true }).waitFor();
    await page.getByRole("button", { name: "Create fork", exact: true }).waitFor();
    await close(page);
    const others: [thread: string, node: string][] = [["order%207%2F%C3%BC", "review waits"], ["broken", "boom failed"]];
    for (const [thread, node] of others) {
      const other = await open(`/ui/threads/${thread}`);
      await other.getByRole("group", { name: "Graph", exact: true }).getByRole("button", { name: node, exact: true }).waitFor();
      await close(other);
    }
  });

  test("a difference of checkpoints and a task have addresses", async () => {
    for (const path of ["/ui/threads/squares/diff/1..2", "/ui/threads/squares/diff/1..2@broken"]) {
      const page = await open(path);
      await page.getByRole("main").getByRole("heading", { level: 1 }).waitFor();
      expect(await page.getByText("There is no such page").count()).toBe(0);
      await close(page);
    }
  });

  test("the threads, a start and the settings", async () => {
    const threads = await open("/ui/threads");
    await threads.getByRole("link", { name: "squares", exact: true }).waitFor();
    await threads.getByRole("searchbox", { name: "Search", exact: true }).waitFor();
    await threads.getByRole("checkbox", { name: "squares", exact: true }).check();
    await threads.getByRole("button", { name: "Cancel", exact: true }).waitFor();
    await threads.getByRole("button", { name: "Delete", exact: true }).click();
    const dialog = threads.getByRole("alertdialog");
    await dialog.getByRole("button", { name: "Confirm", exact: true }).waitFor();
    await dialog.getByRole("button", { name: "Cancel", exact: true }).click();
    await close(threads);
    const start = await open("/ui/start/slow");
    const steps = start.getByRole("textbox", { name: "steps", exact: true });
    await steps.fill("many");
    await start.getByRole("button", { name: "Start", exact: true }).click();
    await expect.poll(() => steps.getAttribute("aria-invalid")).toBe("true");
    await close(start);
    const settings = await open("/ui/settings");
    await settings.getByRole("textbox", { name: "Key", exact: true }).or(settings.getByLabel("Key", { exact: true })).waitFor();
    await settings.getByRole("button", { name: "Use", exact: true }).waitFor();
    await close(settings);
  });
});
