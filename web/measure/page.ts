// A page in Chromium with its figures: when something was there, the longest task, the nodes and the heap.

import { writeFileSync } from "node:fs";
import { join } from "node:path";

import type { BrowserContext, Page } from "playwright-core";

import { launchBrowser } from "../tests/browser/browser";

/** How much slower than it is the processor is made; 1 leaves it. */
export const THROTTLE = Number(process.env["SUPERSTEP_MEASURE_THROTTLE"] ?? 1);
/** A folder for what the browser has recorded, to be looked at in its developer tools; none unless named. */
const TRACES = process.env["SUPERSTEP_MEASURE_TRACES"];
const CATEGORIES = ["toplevel", "blink.user_timing", ...(TRACES === undefined ? [] : ["__metadata", "devtools.timeline", "disabled-by-default-v8.cpu_profiler"])];

export async function newContext(): Promise<BrowserContext> {
  return (await launchBrowser()).newContext({ viewport: { width: 1440, height: 900 } });
}

/** Opens a page and returns, in milliseconds, when an element that fits `selector` was there and the page answered. */
export async function openNoted(context: BrowserContext, address: string, selector: string): Promise<{ page: Page; seen: number }> {
  const page = await context.newPage();
  await page.addInitScript((wanted: string) => {
    const look = (): void => {
      if (document.querySelector(wanted) === null) return void requestAnimationFrame(look);
      setTimeout(() => Object.assign(window, { seenAt: performance.now() }));
    };
    requestAnimationFrame(look);
  }, selector);
  if (THROTTLE > 1) await (await context.newCDPSession(page)).send("Emulation.setCPUThrottlingRate", { rate: THROTTLE });
  await page.goto(address);
  await page.waitForFunction(() => "seenAt" in window, undefined, { polling: 100, timeout: 60_000 });
  return { page, seen: await page.evaluate(() => (window as unknown as { seenAt: number }).seenAt) };
}

export interface Longest {
  /** As a clock has it, and without the time in which other programs had the processor. */
  clock: number;
  processor: number;
}

const MARK = "superstep-measured";

interface TraceEvent {
  name: string;
  pid: number;
  tid: number;
  dur?: number;
  tdur?: number;
}

/** Opens a page, does something in it, and returns it with the longest task of its main thread. */
export async function longestTask(context: BrowserContext, name: string, work: () => Promise<Page>): Promise<Longest & { page: Page }> {
  const own = context.browser();
  await own?.startTracing(undefined, { categories: CATEGORIES });
  try {
    const page = await work();
    // The browser has pages of its own; the mark says which process is this one's.
    await page.evaluate((mark) => void performance.mark(mark), MARK);
    return { page, ...longest(await own?.stopTracing(), name) };
  } catch (error) {
    await own?.stopTracing();
    throw error;
  }
}

function longest(trace: Buffer | undefined, name: string): Longest {
  if (TRACES !== undefined && trace !== undefined) writeFileSync(join(TRACES, `${name.replace(/\W+/g, "-")}.json`), trace);
  const { traceEvents } = JSON.parse(trace?.toString() ?? '{"traceEvents":[]}') as { traceEvents: TraceEvent[] };
  const main = traceEvents.find((event) => event.name === MARK);
  const tasks = traceEvents.filter((event) => event.name.endsWith("RunTask") && event.pid === main?.pid && event.tid === main.tid);
  return { clock: Math.max(0, ...tasks.map(({ dur = 0 }) => dur / 1000)), processor: Math.max(0, ...tasks.map(({ tdur = 0 }) => tdur / 1000)) };
}

export async function sizes(page: Page): Promise<{ nodes: number; heap: number }> {
  const session = await page.context().newCDPSession(page);
  await session.send("HeapProfiler.collectGarbage");
  const { usedSize } = await session.send("Runtime.getHeapUsage");
  return { nodes: await page.evaluate(() => document.querySelectorAll("*").length), heap: usedSize / 1e6 };
}
