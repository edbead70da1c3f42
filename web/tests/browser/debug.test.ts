// What takes a run apart: differences, verify, what-if, forks and rewinds, with what they say beforehand.

import { statSync } from "node:fs";

import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { chromiumPath, closeBrowser, expectSound, openPage, picture, THEMES, WIDTHS } from "./browser";
import { PAGE_PROGRAM, TestServer } from "./server";

describe.skipIf(chromiumPath() === undefined)("taking a run apart", () => {
  const server = new TestServer();
  beforeAll(async () => {
    await server.start();
    await server.run("count", "counter", { n: 10 });
    await server.run("other", "counter", { n: 20 });
  });
  afterAll(async () => {
    await closeBrowser();
    await server.close();
  });
  const address = (thread: string, rest = ""): string => `${server.address}/ui/threads/${encodeURIComponent(thread)}${rest}`;

  /** Opens the form at the checkpoint after three of the five steps. */
  async function openFork(rest = "/checkpoints/5"): Promise<Page & { errors: string[] }> {
    const page = await openPage(address("count", rest));
    await page.getByRole("button", { name: "Fork", exact: true }).click();
    await page.getByRole("textbox", { name: "Name", exact: true }).waitFor();
    return page;
  }
  const stateOf = async (thread: string): Promise<unknown> => (await server.send<{ values: unknown }>("GET", `/threads/${thread}/state`)).values;
  const stateBox = (page: Page) => page.getByRole("textbox", { name: "State", exact: true });
  const create = (page: Page) => page.getByRole("button", { name: "Create fork", exact: true }).click();

  /** Looks at what is shown in both themes. */
  async function lookAt(page: Page & { errors: string[] }, name: string, width: number): Promise<void> {
    for (const theme of THEMES) {
      await page.emulateMedia({ colorScheme: theme });
      await picture(page, `${name}-${theme}-${width}`);
      await expectSound(page);
    }
  }

  test.each(WIDTHS)("looks right %i pixels wide", async (width) => {
    const page = await openPage(address("count", "/diff/3..5"), { width });
    await page.getByRole("region", { name: "Differences" }).waitFor();
    await lookAt(page, "diff", width);
    await page.goto(address("count", "/diff/3..6@other"));
    await page.getByRole("region", { name: "Differences" }).waitFor();
    await lookAt(page, "diff-other", width);
    await page.goto(address("count", "/checkpoints/5"));
    const open = (name: string) => page.getByRole("button", { name, exact: true }).click();
    await open("Verify");
    await page.getByRole("status", { name: "Verify" }).getByText("nothing compared").waitFor();
    await lookAt(page, "verify", width);
    await open("What if");
    await open("Run");
    await page.getByText("The state is as recorded").waitFor();
    await lookAt(page, "what-if", width);
    await open("Fork");
    await page.getByRole("combobox", { name: "Edit a channel" }).selectOption("trail");
    await expect.poll(() => stateBox(page).inputValue()).toContain("step3");
    await lookAt(page, "fork", width);
    await open("Rewind");
    await page.getByRole("alertdialog").waitFor();
    await lookAt(page, "rewind", width);
    await page.context().close();
  });

  test("a place with hidden characters is named as it is", async () => {
    const program = new TestServer({ program: PAGE_PROGRAM });
    try {
      await program.start();
      await program.run("notes", "writer", { topic: "tides", ms: 0 });
      const write = (value: number) => program.send<{ checkpoint_id: string }>("POST", "/threads/notes/state", { values: { changes: { "a\u202eb": value } }, as_node: "ask" });
      const [before, after] = [await write(1), await write(2)];
      const page = await openPage(`${program.address}/ui/threads/notes/diff/${before.checkpoint_id}..${after.checkpoint_id}`);
      await page.getByRole("region", { name: "Differences" }).locator("code").filter({ hasText: "changes › aU+202Eb" }).waitFor();
      await expectSound(page);
      await page.context().close();
    } finally {
      await program.close();
    }
  });

  test("a run is exported as a file", async () => {
    const page = await openPage(address("count"));
    const download = page.waitForEvent("download");
    await page.getByRole("button", { name: "Export", exact: true }).click();
    expect((await download).suggestedFilename()).toBe("count.superstep");
    expect(statSync(await (await download).path()).size).toBeGreaterThan(100);
    await page.context().close();
  });

  test("the values of a fork replace those of its channels, then it is resumed", async () => {
    const page = await openFork();
    await page.getByRole("textbox", { name: "Name", exact: true }).fill("count-edited");
    const again = page.getByRole("group", { name: "Would run again" });
    expect(await again.getByRole("listitem").allTextContents()).toEqual(["step4", "step5"]);
    await page.getByRole("combobox", { name: "Edit a channel" }).selectOption("trail");
    await expect.poll(async () => JSON.parse(await stateBox(page).inputValue())).toEqual({ trail: ["step1", "step2", "step3"] });
    await page.getByRole("combobox", { name: "Edit a channel" }).selectOption("n");
    await expect.poll(async () => JSON.parse(await stateBox(page).inputValue())).toEqual({ trail: ["step1", "step2", "step3"], n: 13 });
    await stateBox(page).fill('{"n": 40, "trail": ["edited"]}');
    await page.getByRole("button", { name: "Preview" }).click();
    await page.getByText("These would run next: step4.").waitFor();
    await create(page);
    await page.getByRole("heading", { level: 1, name: "count-edited" }).waitFor();
    expect(await stateOf("count-edited")).toEqual({ n: 40, trail: ["edited"] });
    await page.getByRole("button", { name: "Resume" }).click();
    await page.getByText("finished", { exact: true }).waitFor();
    expect(await stateOf("count-edited")).toEqual({ n: 42, trail: ["edited", "step4", "step5"] });
    await expectSound(page);
    await page.context().close();
  });

  test("a fork is not made of a state with a slip in it", async () => {
    const page = await openFork();
    const sent: string[] = [];
    page.on("request", (request) => void sent.push(`${request.method()} ${new URL(request.url()).pathname}`));
    const slips: [words: string, problem: RegExp][] = [
      ['{"n": 40', /This is no JSON/],
      ['{"trial": ["edited"]}', /`trial` is no channel: n, trail/],
      ["40", /an object of channels/],
    ];
    await stateBox(page).fill('{"n": 40');
    await page.getByRole("combobox", { name: "Edit a channel" }).selectOption("trail");
    await expect.poll(() => page.evaluate(() => document.activeElement?.tagName)).toBe("TEXTAREA");
    expect(await stateBox(page).inputValue()).toBe('{"n": 40');
    for (const [words, problem] of slips) {
      await stateBox(page).fill(words);
      await create(page);
      await page.getByText(problem).waitFor();
      expect(await stateBox(page).getAttribute("aria-invalid")).toBe("true");
      await expect.poll(() => page.evaluate(() => document.activeElement?.tagName)).toBe("TEXTAREA");
    }
    expect(sent).not.toContain("POST /threads/count/fork");
    await page.context().close();
  });

  test("a panel stays at its checkpoint while others are looked at", async () => {
    const page = await openFork();
    await stateBox(page).fill('{"n": 40}');
    await page.getByRole("slider", { name: "Checkpoint" }).focus();
    await page.keyboard.press("ArrowLeft");
    await page.waitForURL(/\/checkpoints\/4$/);
    await page.getByText("This is about checkpoint 5.").waitFor();
    await page.getByRole("heading", { name: "Fork at checkpoint 5" }).waitFor();
    expect(await stateBox(page).inputValue()).toBe('{"n": 40}');
    await page.getByRole("button", { name: "Use the one shown" }).click();
    await page.getByRole("heading", { name: "Fork at checkpoint 4" }).waitFor();
    expect(await stateBox(page).inputValue()).toBe("");
    expect(await page.getByRole("group", { name: "Would run again" }).getByRole("listitem").allTextContents()).toEqual(["step3", "step4", "step5"]);
    await page.context().close();
  });

  test("a rewind is confirmed, keeps what came after as a branch, and is resumed", async () => {
    await server.run("back", "counter", { n: 10 });
    const page = await openPage(address("back", "/checkpoints/5"));
    await page.getByRole("button", { name: "Rewind", exact: true }).click();
    const dialog = page.getByRole("alertdialog", { name: "Rewind back to checkpoint 5?" });
    await dialog.getByText("2 recorded tasks would run again.").waitFor();
    await dialog.getByRole("button", { name: "Confirm" }).click();
    await page.waitForURL(address("back"));
    await page.getByRole("button", { name: "Resume" }).click();
    await page.getByText("finished", { exact: true }).waitFor();
    expect(await stateOf("back")).toEqual({ n: 15, trail: ["step1", "step2", "step3", "step4", "step5"] });
    await page.getByRole("link", { name: "Branch from checkpoint 4 to 7" }).click();
    await page.waitForURL(/\/checkpoints\/7$/);
    expect(await page.getByRole("slider", { name: "Checkpoint" }).getAttribute("aria-valuetext")).toMatch(/^checkpoint 7, .*after step5$/);
    await page.getByRole("link", { name: /^Branch from checkpoint 4 to \d+$/ }).waitFor();
    await page.context().close();
  });
  const DIVERGENCE = { checkpoint: 3, step: 2, node: "step2", task: "3-2", what: "the write of `n`", recorded: 1, now: 5 };

  test("the first divergence is shown in the timeline and in the graph", async () => {
    const page = await openPage(address("count"));
    const report = { verdict: "different", verified: 2, bodies: 2, routers: 0, not_verified: [], divergence: { ...DIVERGENCE, task: undefined } };
    await page.route("**/threads/count/verify", (route) => route.fulfill({ json: report }));
    await page.getByRole("button", { name: "Verify", exact: true }).click();
    const row = page.getByRole("list", { name: "Timeline" }).locator("[data-diverges]");
    await row.getByRole("link", { name: /^step2/ }).waitFor();
    expect(await row.count()).toBe(1);
    await expect.poll(() => row.evaluate((element) => element.getBoundingClientRect().top >= 0 && element.getBoundingClientRect().bottom <= innerHeight)).toBe(true);
    expect(await page.getByRole("group", { name: "Graph" }).locator("[data-diverges]").getAttribute("aria-label")).toBe("step2 ran");
    await picture(page, "debug-divergence");
    await expectSound(page);
    await page.getByRole("button", { name: "Verify", exact: true }).click();
    await row.waitFor({ state: "detached" });
    await page.context().close();
  });

  test("what if shows the channels that would be others beside the recorded ones", async () => {
    const page = await openPage(address("count"));
    await page.getByRole("button", { name: "What if", exact: true }).click();
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await page.getByText("The state is as recorded at checkpoint 7.").waitFor();
    const report = { supersteps: 5, differences: [DIVERGENCE], taken: [], stopped: null, next: [], state: { n: 19, trail: ["step1", "step2", "step3", "step4", "step5"] } };
    await page.route("**/threads/count/what-if", (route) => route.fulfill({ json: report }));
    await page.getByRole("button", { name: "Run", exact: true }).click();
    const states = page.getByRole("region", { name: "State, recorded and now" });
    await states.waitFor();
    expect(await states.locator("code").allTextContents()).toEqual(["n"]);
    expect(await states.locator(".value").allTextContents()).toEqual(["15", "19"]);
    await picture(page, "debug-what-if");
    await expectSound(page);
    await page.context().close();
  });
});
