// The figures that the page has to reach, measured beside a real server. Prints a table and asserts nothing: a loaded machine is slower.

import type { BrowserContext as Context, Page } from "playwright-core";
import { afterAll, beforeAll, describe, test } from "vitest";

import type { Activity } from "../src/api/activity_stream";
import { readEvents } from "../src/api/sse";
import { closeBrowser } from "../tests/browser/browser";
import { TestServer } from "../tests/browser/server";
import { longestTask, newContext, openNoted, sizes, THROTTLE } from "./page";
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
  const repeat = (name: string, work: (context: Context, run: number) => Promise<void>): void => {
    test.runIf(ONLY.test(name))(name, { timeout: 600_000 }, async () => {
      for (let run = 0; run < RUNS; run += 1) {
        const context = await newContext();
        await work(context, run);
        await context.close();
      }
    });
  };
  /** Measures what is done in one page; in it, the page is opened. */
  const measure = async (context: Context, name: string, work: () => Promise<Page>): Promise<void> => {
    const { page, clock, processor } = await longestTask(context, name, work);
    figures.add(`${name}: longest task`, "ms", TASK, clock);
    figures.add(`${name}: its time on a processor`, "ms", TASK, processor);
    const { nodes, heap } = await sizes(page);
    figures.add(`${name}: nodes`, "", 2000, nodes);
    figures.add(`${name}: heap`, "MB", 150, heap);
    await page.close();
  };
  const address = (rest: string): string => `${proxy.address}/ui/${rest}`;
  const open = async (context: Context, rest: string, selector: string): Promise<Page> => (await openNoted(context, address(rest), selector)).page;

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
    const thread = `asked-${run}`;
    const page = await open(context, "", "h1");
    await page.getByText("Live").waitFor();
    await noteArticle(page, thread);
    const event = await questionOf(proxy.address, thread);
    await server.run(thread, "approval", { request: "tea" });
    await page.getByRole("article", { name: thread }).waitFor();
    figures.add("a question is shown after its event", "ms", 300, (await shownAt(page)) - (await event.at));
    await server.send("DELETE", `/threads/${thread}`);
  });

  repeat("eight tabs", async (context, run) => {
    const thread = `tabs-${run}`;
    const tabs: Page[] = [];
    for (let tab = 0; tab < 8; tab += 1) tabs.push(await open(context, "", "h1"));
    for (const tab of tabs) await noteArticle(tab, thread);
    const event = await questionOf(proxy.address, thread);
    await server.run(thread, "approval", { request: "tea" });
    const waits = tabs.map((tab) => tab.getByRole("article", { name: thread }).waitFor({ timeout: 10_000 }).then(() => shownAt(tab), () => null));
    const shown = await Promise.all(waits);
    const at = await event.at;
    figures.add("tabs of eight that are not live", "", 0, shown.filter((one) => one === null).length);
    figures.add("the last of eight tabs shows a question after its event", "ms", 1000, Math.max(...shown.map((one) => (one ?? Infinity) - at)));
    await server.send("DELETE", `/threads/${thread}`);
  });

  for (const [thread, name] of [["made-tasks", "100,000 tasks"], ["made-wide-tasks", "100,000 tasks, 1,000 at a time"]] as const) {
    repeat(name, (context) =>
      measure(context, name, async () => {
        const page = await open(context, `threads/${thread}`, "input[type=range]");
        const slider = page.getByRole("slider", { name: "Checkpoint" });
        await slider.focus();
        for (let at = 0; at < 200 && !/superstep -1/.test((await slider.getAttribute("aria-valuetext")) ?? ""); at += 1) {
          await page.keyboard.press("Home");
          await page.waitForTimeout(150);
        }
        await page.locator(".timeline-scroller").evaluate((element) => element.scrollTo({ top: element.scrollHeight / 2 }));
        await page.waitForTimeout(300);
        await page.keyboard.press("End");
        await page.waitForTimeout(500);
        return page;
      }),
    );
  }

  repeat("100,000 events", (context) =>
    measure(context, "a task of 100,000 events", async () => {
      const page = await open(context, "threads/made-events/checkpoints/1/tasks/1-0", "[aria-label=Journal]");
      await page.locator("summary", { hasText: "events" }).click();
      await page.getByRole("region", { name: "Events" }).evaluate((element) => element.scrollTo({ top: element.scrollHeight }));
      await page.waitForTimeout(500);
      return page;
    }),
  );

  for (const [thread, name, last] of [["made-live", "100,000 events as they come", "word 99999"], ["made-agent", "100,000 events of an agent as they come", "piece 99999"]] as const) {
    repeat(name, (context) =>
      measure(context, name, async () => {
        const page = await open(context, `threads/${thread}/checkpoints/2/tasks/2-0`, "h1");
        await page.getByText(last).first().waitFor({ timeout: 60_000 });
        await page.waitForTimeout(300);
        return page;
      }),
    );
  }

  repeat("large state", (context) =>
    measure(context, "a state of 10 MB", async () => {
      const page = await open(context, "threads/made-state", "[role=treeitem]");
      const tree = page.getByRole("tree", { name: "State" });
      await tree.locator('[data-path="/report"]').click();
      await page.getByRole("button", { name: "Load all of it" }).click();
      await page.waitForTimeout(1000);
      await tree.locator('[data-path="/items"]').click();
      await tree.locator('[data-path="/items/0"]').click();
      await tree.locator('[data-path="/items/0/id"]').waitFor();
      await page.getByRole("slider", { name: "Checkpoint" }).press("ArrowLeft");
      await page.waitForTimeout(500);
      return page;
    }),
  );

  repeat("large graph", (context) =>
    measure(context, "a graph of 300 nodes", async () => {
      const { page, seen } = await openNoted(context, address("threads/made-graph"), "[aria-label=Graph]");
      figures.add("a graph of 300 nodes is drawn after", "ms", 5000, seen);
      await page.getByRole("button", { name: "Zoom in" }).click();
      await page.getByRole("button", { name: "Fit" }).click();
      await page.waitForTimeout(300);
      return page;
    }),
  );

  repeat("1,000 workers", async (context) => {
    await measure(context, "1,000 parallel workers", async () => {
      const page = await open(context, "threads/made-workers", ".timeline-row");
      await page.waitForTimeout(4000);
      return page;
    });
    const thread = "squares";
    await server.send("POST", `/threads/${thread}/runs`, { assistant_id: "parallel", if_not_exists: "create", input: { items: Array.from({ length: 1000 }, (_, nth) => nth) } });
    await measure(context, "1,000 parallel workers of a server", async () => {
      const page = await open(context, `threads/${thread}`, ".timeline-row");
      await page.getByText("finished", { exact: true }).waitFor({ timeout: 60_000 });
      await page.waitForTimeout(1000);
      return page;
    });
    await server.send("DELETE", `/threads/${thread}`);
  });

  test.runIf(ONLY.test("threads"))("10,000 threads are made", { timeout: 600_000 }, async () => {
    const names = Array.from({ length: 10_000 }, (_, nth) => `order-${String(nth).padStart(5, "0")}`);
    while (names.length > 0) await Promise.all(names.splice(0, 40).map((name) => server.send("POST", "/threads", { thread_id: name })));
  });

  repeat("threads", async (context) => {
    const inbox = await openNoted(context, address(""), ".empty");
    figures.add("the inbox beside 10,000 threads is usable after", "ms", 1000, inbox.seen);
    await inbox.page.close();
    await measure(context, "the list of 10,000 threads", async () => {
      const { page, seen } = await openNoted(context, address("threads"), ".threads-row a");
      figures.add("the list of 10,000 threads is usable after", "ms", 1000, seen);
      for (const part of [0.3, 0.6, 1]) {
        await page.evaluate((at) => scrollTo(0, document.documentElement.scrollHeight * at), part);
        await page.waitForTimeout(700);
      }
      await page.getByRole("searchbox", { name: "Search" }).fill("order-0012");
      await page.getByText("10 threads", { exact: true }).waitFor();
      return page;
    });
  });

  repeat("threads and events", (context) => {
    burst.count = 100_000;
    return measure(context, "100,000 events of 5,000 threads in their list", async () => {
      const page = await open(context, "threads", ".threads-row a");
      await page.waitForTimeout(4000);
      burst.count = 0;
      return page;
    });
  });
});

/** Notes when a thread's card is there. */
async function noteArticle(page: Page, thread: string): Promise<void> {
  await page.evaluate((name) => {
    const watch = new MutationObserver(() => {
      if (document.querySelector("article")?.textContent?.includes(name) !== true) return;
      watch.disconnect();
      Object.assign(window, { shownAt: Date.now() });
    });
    watch.observe(document.body, { childList: true, subtree: true, characterData: true });
  }, thread);
}

function shownAt(page: Page): Promise<number> {
  return page.evaluate(() => (window as unknown as { shownAt: number }).shownAt);
}

/** Reads the activity, and returns when the event of a thread's question comes. */
async function questionOf(address: string, thread: string): Promise<{ at: Promise<number> }> {
  const { body } = await fetch(`${address}/events`);
  if (body === null) throw new Error("the activity has no body");
  return { at: questionTime(body, thread) };
}

async function questionTime(body: ReadableStream<Uint8Array>, thread: string): Promise<number> {
  for await (const { event, data } of readEvents(body)) {
    if (event !== "activity") continue;
    const activity = JSON.parse(data) as Activity;
    if (activity.thread === thread && activity.kind === "question") return Date.now();
  }
  throw new Error(`the activity ended before a question of ${thread}`);
}
