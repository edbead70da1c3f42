// A run: its graph, its tasks on an axis of time, its checkpoints and its state, live and over a restart of the server.

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { chromiumPath, closeBrowser, expectSound, lookAt, openPage, picture } from "./browser";
import { TestServer } from "./server";

describe.skipIf(chromiumPath() === undefined)("a run", () => {
  const server = new TestServer();
  beforeAll(async () => {
    await server.start();
    await server.run("tea/1", "approval", { request: "buy tea" });
    await server.run("boxes", "nested", {});
    await server.run("squares", "parallel", { items: Array.from({ length: 60 }, (_, nth) => nth) });
    await server.run("broken", "fails", { reason: "no water" }).catch(() => undefined);
  });
  afterAll(async () => {
    await closeBrowser();
    await server.close();
  });
  const address = (thread: string, rest = ""): string => `${server.address}/ui/threads/${encodeURIComponent(thread)}${rest}`;

  test("looks right everywhere", async () => {
    await lookAt(address("tea/1"), "run", async (page) => {
      await page.getByRole("group", { name: "Graph" }).getByRole("button", { name: "review waits" }).waitFor();
      await page.getByRole("tree", { name: "State" }).getByRole("treeitem").first().waitFor();
    });
  });

  test("shows what ran and what waits, and changes as soon as it is answered", async () => {
    const thread = "tea/2";
    await server.run(thread, "approval", { request: "buy tea" });
    const page = await openPage(address(thread));
    const graph = page.getByRole("group", { name: "Graph" });
    await page.getByRole("heading", { level: 1, name: thread }).waitFor();
    await graph.getByRole("button", { name: "propose ran" }).waitFor();
    await graph.getByRole("button", { name: "review waits" }).waitFor();
    expect(await graph.getByRole("button", { name: "finish" }).getAttribute("aria-label")).toBe("finish");
    await page.evaluate(() => Object.assign(window, { isSamePage: true }));
    await server.send("POST", `/threads/${encodeURIComponent(thread)}/runs/wait`, { assistant_id: "approval", command: { resume: "yes" } });
    await graph.getByRole("button", { name: "finish ran" }).waitFor();
    await page.getByText("finished", { exact: true }).waitFor();
    await page.getByRole("list", { name: "Timeline" }).getByRole("link", { name: /^finish, superstep 3, ran/ }).waitFor();
    expect(await page.evaluate(() => "isSamePage" in window)).toBe(true);
    await expectSound(page);
    await page.context().close();
  });

  test("nodes are reached by arrow keys, and the drawing is scaled by keys and does not move by itself", async () => {
    const page = await openPage(address("boxes"));
    const graph = page.getByRole("group", { name: "Graph" });
    await graph.getByRole("button", { name: "first ran" }).focus();
    await page.keyboard.press("ArrowRight");
    const focused = (): Promise<string | null> => page.evaluate(() => document.activeElement?.getAttribute("aria-label") ?? null);
    expect(await focused()).toBe("child ran");
    const place = (): Promise<string | null> => graph.locator("g[transform^=translate]").first().getAttribute("transform");
    const before = await place();
    await page.keyboard.press("+");
    expect(await place()).not.toBe(before);
    await page.keyboard.press("0");
    expect(await place()).toBe(before);
    await page.context().close();
  });

  test("all its keys are listed", async () => {
    const page = await openPage(address("boxes"));
    await page.getByRole("tree", { name: "State" }).getByRole("treeitem").first().waitFor();
    await page.keyboard.press("?");
    const keys = page.getByRole("dialog", { name: "Keys" });
    for (const about of [/the checkpoint before/, /in the graph: larger, smaller, all of it/, /in the graph: to the next node/, /in the state: to the next value/, /in the state: to the first and the last value/]) await keys.getByText(about).waitFor();
    await picture(page, "run-keys");
    await expectSound(page);
    await page.context().close();
  });

  test("a subgraph opens in the graph and in the timeline", async () => {
    const page = await openPage(address("boxes"));
    const graph = page.getByRole("group", { name: "Graph" });
    const timeline = page.getByRole("list", { name: "Timeline" });
    await graph.getByRole("button", { name: "child ran" }).click();
    await graph.getByRole("button", { name: "inner_a ran" }).waitFor();
    await graph.getByRole("button", { name: "inner_b ran" }).waitFor();
    expect(await timeline.getByRole("listitem").count()).toBe(3);
    await page.getByRole("button", { name: "Inside child" }).click();
    await timeline.getByRole("link", { name: /^inner_b/ }).waitFor();
    expect(await timeline.getByRole("listitem").count()).toBe(5);
    await picture(page, "run-inside");
    await expectSound(page);
    await timeline.getByRole("link", { name: /^inner_b/ }).click();
    await page.getByRole("heading", { level: 1, name: "inner_b" }).waitFor();
    await page.getByText("Wrote").waitFor();
    await page.goBack();
    await page.getByRole("heading", { level: 1, name: "boxes" }).waitFor();
    await page.context().close();
  });

  test("START is hidden unless it is wanted", async () => {
    const page = await openPage(address("boxes"));
    const timeline = page.getByRole("list", { name: "Timeline" });
    await timeline.getByRole("link", { name: /^first/ }).waitFor();
    expect(await timeline.getByRole("link", { name: /^__start__/ }).count()).toBe(0);
    await page.getByRole("checkbox", { name: /START/ }).check();
    await timeline.getByRole("link", { name: /^__start__/ }).waitFor();
    await page.context().close();
  });

  test("parallel tasks have a row each, of which only those that are seen are there", async () => {
    const page = await openPage(address("squares"));
    await page.getByRole("group", { name: "Graph" }).getByRole("button", { name: "worker ran" }).waitFor();
    const rows = page.getByRole("list", { name: "Timeline" }).getByRole("listitem");
    await rows.first().waitFor();
    expect(await rows.first().getAttribute("aria-setsize")).toBe("62");
    expect(await rows.count()).toBeLessThan(50);
    await picture(page, "run-parallel");
    await expectSound(page);
    await page.context().close();
  });

  test("the slider leads through the checkpoints, and the address follows", async () => {
    const page = await openPage(address("squares"));
    const slider = page.getByRole("slider", { name: "Checkpoint" });
    await slider.focus();
    const text = (): Promise<string | null> => slider.getAttribute("aria-valuetext");
    expect(await text()).toMatch(/^checkpoint \d+, superstep 3, after join$/);
    await page.keyboard.press("ArrowLeft");
    await page.waitForURL(/\/checkpoints\/\d+$/);
    expect(await text()).toMatch(/superstep 2, after worker × 60$/);
    await page.keyboard.press("Home");
    expect(await text()).toMatch(/superstep -1, input$/);
    expect(await page.evaluate(() => document.activeElement?.getAttribute("type"))).toBe("range");
    await page.keyboard.press("End");
    expect(await text()).toMatch(/after join$/);
    await page.keyboard.press(",");
    expect(await text()).toMatch(/after worker × 60$/);
    const link = page.url();
    await page.goto(link);
    await page.getByText(/after worker × 60/).waitFor();
    await page.getByRole("link", { name: "Latest" }).click();
    await page.getByText(/after join/).waitFor();
    expect(new URL(page.url()).pathname).toBe("/ui/threads/squares");
    await page.context().close();
  });

  test("the state is a tree that says what changed, and is read by keys", async () => {
    const page = await openPage(address("squares"));
    const tree = page.getByRole("tree", { name: "State" });
    const item = (name: RegExp) => tree.getByRole("treeitem", { name });
    await item(/^total/).waitFor();
    await tree.locator('[role=treeitem][data-path="/total"][data-changed]').waitFor();
    expect(await item(/^items/).getAttribute("data-changed")).toBeNull();
    await item(/^items/).focus();
    await page.keyboard.press("ArrowRight");
    await tree.locator('[data-path="/items/0"]').waitFor();
    expect(await item(/^items/).getAttribute("aria-expanded")).toBe("true");
    await page.keyboard.press("ArrowRight");
    const active = (): Promise<string | null> => page.evaluate(() => document.activeElement?.getAttribute("data-path") ?? null);
    await expect.poll(active).toBe("/items/0");
    expect(await tree.locator('[data-path="/items/0"]').getAttribute("aria-level")).toBe("2");
    await page.keyboard.press("ArrowLeft");
    await expect.poll(active).toBe("/items");
    await page.keyboard.press("ArrowLeft");
    await expect.poll(() => item(/^items/).getAttribute("aria-expanded")).toBe("false");
    await page.context().close();
  });

  test("the state is as easy to read while the next one comes", async () => {
    const page = await openPage(address("squares"));
    await page.getByRole("tree", { name: "State" }).locator('[role=treeitem][data-changed]').first().waitFor();
    let answer = (): void => undefined;
    const asked = new Promise<void>((resolve) => {
      answer = resolve;
    });
    await page.route(/\/state\//, async (route) => {
      await asked;
      await route.continue();
    });
    await page.getByRole("slider", { name: "Checkpoint" }).focus();
    await page.keyboard.press("ArrowLeft");
    await page.locator('.run-state[aria-busy="true"]').waitFor();
    await expectSound(page);
    answer();
    await page.locator('.run-state[aria-busy="false"]').waitFor();
    await page.context().close();
  });

  test("a long text is cut until all of it is wanted", async () => {
    await server.run("long", "approval", { request: "tea ".repeat(500) });
    const page = await openPage(address("long"));
    await page.getByRole("tree", { name: "State" }).locator('[data-path="/request"]').click();
    const value = page.getByRole("region", { name: "Value of /request" });
    await value.getByText("tea tea").waitFor();
    expect((await value.locator("pre").textContent())?.length).toBe(2000);
    await value.getByRole("button", { name: "Close" }).click();
    await value.waitFor({ state: "detached" });
    await page.context().close();
  });

  test("a failure says what, and is tried again", async () => {
    const page = await openPage(address("broken"));
    await page.getByRole("group", { name: "Graph" }).getByRole("button", { name: "boom failed" }).waitFor();
    await page.getByText(/boom: no water/).first().waitFor();
    await picture(page, "run-failed");
    await expectSound(page);
    await page.getByRole("button", { name: "Retry" }).click();
    await page.getByRole("button", { name: "Retry" }).waitFor();
    await page.context().close();
  });

  test("a run is watched while the server is killed and started, and cancelled", async () => {
    await server.send("POST", "/threads/slow-1/runs", { assistant_id: "slow", if_not_exists: "create", input: { steps: 400, ms: 100 } });
    const page = await openPage(address("slow-1"));
    await page.getByRole("group", { name: "Graph" }).getByRole("button", { name: "tick running" }).waitFor();
    await page.evaluate(() => Object.assign(window, { isSamePage: true }));
    const position = async (): Promise<number> => Number(/superstep (\d+)/.exec((await page.getByRole("slider", { name: "Checkpoint" }).getAttribute("aria-valuetext")) ?? "")?.[1] ?? 0);
    await expect.poll(position).toBeGreaterThan(2);
    await server.kill();
    await page.getByRole("navigation", { name: "Main" }).getByText("The server does not answer").waitFor();
    const before = await position();
    await server.start();
    await expect.poll(position, { timeout: 20_000 }).toBeGreaterThan(before);
    expect(await page.evaluate(() => "isSamePage" in window)).toBe(true);
    await picture(page, "run-live");
    await page.getByRole("button", { name: "Cancel", exact: true }).click();
    await page.getByRole("alertdialog").getByRole("button", { name: "Confirm" }).click();
    await page.getByRole("button", { name: "Resume" }).waitFor();
    expect(page.errors).toEqual([]);
    await page.context().close();
  });

  test("a long run has few elements, and its first checkpoint is reached", async () => {
    await server.run("many", "slow", { steps: 200, ms: 0 });
    const page = await openPage(address("many"));
    const slider = page.getByRole("slider", { name: "Checkpoint" });
    await slider.focus();
    const first = async (): Promise<string | null> => {
      await page.keyboard.press("Home");
      return slider.getAttribute("aria-valuetext");
    };
    await expect.poll(first, { timeout: 20_000 }).toMatch(/superstep -1, input$/);
    expect(await page.evaluate(() => document.querySelectorAll("*").length)).toBeLessThan(2000);
    await page.context().close();
  });

  test("a thread that is not there says so", async () => {
    const page = await openPage(address("nobody"));
    await page.getByRole("alert").getByText("nobody").first().waitFor();
    await page.context().close();
  });
});
