// The figures that the page has to reach, measured beside a real server. Prints a table and asserts nothing: a loaded machine is slower.

import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, test } from "vitest";

import { TestServer } from "../tests/browser/server";
import { closeBrowser, forgetTasks, newContext, noted, openNoted, sizes, THROTTLE } from "./page";
import { burst, startProxy, type Proxy } from "./proxy";
import { Figures } from "./table";

const RUNS = Number(process.env["SUPERSTEP_MEASURE_RUNS"] ?? 3);
const ONLY = new RegExp(process.env["SUPERSTEP_MEASURE_ONLY"] ?? "");
const TASK = 100;

describe("figures of the page", () => {
  const server = new TestServer();
  const figures = new Figures();
  let proxy: Proxy;
  beforeAll(async () => {
    await server.start();
    proxy = await startProxy(server.address);
  });
  afterAll(async () => {
    await closeBrowser();
    proxy.server.close();
    await server.close();
    console.log(`\n${figures.text()}\n\n${RUNS} runs, processor slowed ${THROTTLE} times\n`);
  });

  /** Repeats what is done in a new context. */
  const repeat = (name: string, work: (context: Awaited<ReturnType<typeof newContext>>, run: number) => Promise<void>): void => {
    test.runIf(ONLY.test(name))(name, { timeout: 600_000 }, async () => {
      for (let run = 0; run < RUNS; run += 1) {
        const context = await newContext();
        await work(context, run);
        await context.close();
      }
    });
  };
  const task = async (page: Page, name: string): Promise<void> => figures.add(`${name}: longest task`, "ms", TASK, (await noted(page)).longest);
  const size = async (page: Page, name: string): Promise<void> => {
    const { nodes, heap } = await sizes(page);
    figures.add(`${name}: nodes`, "", 2000, nodes);
    figures.add(`${name}: heap`, "MB", 150, heap);
  };
  const address = (rest: string): string => `${proxy.address}/ui/${rest}`;

  repeat("first load", async (context) => {
    const page = await context.newPage();
    const session = await context.newCDPSession(page);
    let bytes = 0;
    await session.send("Network.enable");
    session.on("Network.loadingFinished", ({ encodedDataLength }) => (bytes += encodedDataLength));
    await page.goto(address(""));
    await page.getByText("Nothing waits for you").waitFor();
    await page.waitForTimeout(1000);
    figures.add("first load of an empty inbox, encoded", "KB", 120, bytes / 1000);
  });

  repeat("question", async (context, run) => {
    const page = await openNoted(context, address(""), "h1");
    const thread = `asked-${run}`;
    await page.getByText("Live").waitFor();
    await page.evaluate((name) => {
      const watch = new MutationObserver(() => {
        if (document.querySelector("article")?.textContent?.includes(name) !== true) return;
        watch.disconnect();
        Object.assign(window, { shownAt: Date.now() });
      });
      watch.observe(document.body, { childList: true, subtree: true, characterData: true });
    }, thread);
    const event = questionAt(proxy.address, thread);
    await server.run(thread, "approval", { request: "tea" });
    await page.getByRole("article", { name: thread }).waitFor();
    const shown = await page.evaluate(() => (window as unknown as { shownAt: number }).shownAt);
    figures.add("a question is shown after its event", "ms", 300, shown - (await event));
    await server.send("DELETE", `/threads/${thread}`);
  });

  repeat("eight tabs", async (context, run) => {
    const tabs: Page[] = [];
    for (let tab = 0; tab < 8; tab += 1) tabs.push(await openNoted(context, address(tab % 2 === 0 ? "" : "threads"), "h1"));
    const thread = `tabs-${run}`;
    const started = Date.now();
    await server.run(thread, "approval", { request: "tea" });
    const seen = await Promise.all(tabs.map((page) => page.getByRole("link", { name: thread }).first().waitFor({ timeout: 10_000 }).then(() => Date.now() - started, () => 10_000)));
    figures.add("eight tabs show a new thread after", "ms", 1000, Math.max(...seen));
    await server.send("DELETE", `/threads/${thread}`);
  });

  repeat("100,000 tasks", async (context) => {
    for (const [name, words] of [["made-tasks", "100,000 tasks"], ["made-wide-tasks", "100,000 tasks, 1,000 at a time"]] as const) {
      const page = await openNoted(context, address(`threads/${name}`), "[role=slider], input[type=range]");
      const slider = page.getByRole("slider", { name: "Checkpoint" });
      await slider.focus();
      for (let at = 0; at < 60 && !/superstep -1/.test((await slider.getAttribute("aria-valuetext")) ?? ""); at += 1) {
        await page.keyboard.press("Home");
        await page.waitForTimeout(150);
      }
      await page.locator(".timeline-scroller").evaluate((element) => element.scrollTo({ top: element.scrollHeight / 2 }));
      await page.waitForTimeout(300);
      await page.keyboard.press("End");
      await page.waitForTimeout(500);
      await task(page, words);
      await size(page, words);
      await page.close();
    }
  });

  repeat("100,000 events", async (context) => {
    const page = await openNoted(context, address("threads/made-events/checkpoints/1/tasks/1-0"), "[aria-label=Journal]");
    await page.getByText("100000 events").or(page.getByText("50000 events")).first().click();
    await page.getByRole("region", { name: "Events" }).evaluate((element) => element.scrollTo({ top: element.scrollHeight }));
    await page.waitForTimeout(500);
    await task(page, "a task of 100,000 events");
    await size(page, "a task of 100,000 events");
    await page.goto(address("threads/made-live/checkpoints/2/tasks/2-0"));
    await page.getByText("word 99999").waitFor({ timeout: 60_000 });
    await page.waitForTimeout(500);
    await task(page, "100,000 events as they come");
    await size(page, "100,000 events as they come");
  });

  repeat("large state", async (context) => {
    const page = await openNoted(context, address("threads/made-state"), "[role=treeitem]");
    const tree = page.getByRole("tree", { name: "State" });
    await tree.locator('[data-path="/items"]').click();
    await tree.locator('[data-path="/items/0"]').waitFor();
    await tree.locator('[data-path="/report"]').click();
    await page.getByRole("button", { name: "Show all" }).click();
    await page.waitForTimeout(1000);
    await page.getByRole("slider", { name: "Checkpoint" }).press("ArrowLeft");
    await page.waitForTimeout(1000);
    await task(page, "a state of 10 MB");
    await size(page, "a state of 10 MB");
  });

  repeat("large graph", async (context) => {
    const page = await openNoted(context, address("threads/made-graph"), "[aria-label=Graph]");
    await page.getByRole("button", { name: "Zoom in" }).click();
    await page.getByRole("button", { name: "Fit" }).click();
    await page.waitForTimeout(300);
    figures.add("a graph of 300 nodes is drawn after", "ms", 5000, (await noted(page)).seen ?? 0);
    await task(page, "a graph of 300 nodes");
  });

  repeat("1,000 workers", async (context) => {
    const page = await openNoted(context, address("threads/made-workers"), ".timeline-row");
    await page.waitForTimeout(4000);
    await task(page, "1,000 parallel workers");
    await size(page, "1,000 parallel workers");
    await page.close();
    const thread = "squares";
    await server.send("POST", `/threads/${thread}/runs`, { assistant_id: "parallel", if_not_exists: "create", input: { items: Array.from({ length: 1000 }, (_, nth) => nth) } }).catch(() => undefined);
    const real = await openNoted(context, address(`threads/${thread}`), ".timeline-row");
    await real.waitForTimeout(4000);
    await task(real, "1,000 parallel workers of a server");
    await server.send("DELETE", `/threads/${thread}`).catch(() => undefined);
  });

  test.runIf(ONLY.test("threads"))("10,000 threads are made", { timeout: 600_000 }, async () => {
    const names = Array.from({ length: 10_000 }, (_, nth) => `order-${String(nth).padStart(5, "0")}`);
    while (names.length > 0) await Promise.all(names.splice(0, 40).map((name) => server.send("POST", "/threads", { thread_id: name })));
  });
  repeat("threads", async (context) => {
    const page = await openNoted(context, address("threads"), ".threads-row a");
    figures.add("the list of 10,000 threads is usable after", "ms", 1000, (await noted(page)).seen ?? 0);
    const inbox = await openNoted(context, address(""), ".empty");
    figures.add("the inbox beside 10,000 threads is usable after", "ms", 1000, (await noted(inbox)).seen ?? 0);
    await inbox.close();
    await page.bringToFront();
    for (const part of [0.3, 0.6, 1]) {
      await page.evaluate((at) => scrollTo(0, document.documentElement.scrollHeight * at), part);
      await page.waitForTimeout(700);
    }
    await page.getByRole("searchbox", { name: "Search" }).fill("order-0012");
    await page.getByText("10 threads", { exact: true }).waitFor();
    await task(page, "the list of 10,000 threads");
    await size(page, "the list of 10,000 threads");
  });
  repeat("threads and events", async (context) => {
    const page = await openNoted(context, address("threads"), ".threads-row a");
    await forgetTasks(page);
    await page.close();
    burst.count = 100_000;
    const busy = await openNoted(context, address("threads"), ".threads-row a");
    await busy.waitForTimeout(4000);
    burst.count = 0;
    await task(busy, "100,000 events of 5,000 threads in their list");
    await size(busy, "100,000 events of 5,000 threads in their list");
  });
});

/** Returns when the event of a thread's question has come. */
async function questionAt(address: string, thread: string): Promise<number> {
  const stop = new AbortController();
  const { body } = await fetch(`${address}/events`, { signal: stop.signal });
  const reader = body?.pipeThrough(new TextDecoderStream()).getReader();
  for (let all = ""; ; ) {
    const { value = "" } = (await reader?.read()) ?? {};
    all += value;
    if (all.split("\n").some((line) => line.includes(`"${thread}"`) && line.includes('"question"'))) break;
  }
  const now = Date.now();
  stop.abort();
  return now;
}
