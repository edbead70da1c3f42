// A page in Chromium with its figures: when something was there, the longest task, the nodes and the heap.

import { chromium, type Browser, type BrowserContext, type Page } from "playwright-core";

import { chromiumPath } from "../tests/browser/browser";

let browser: Browser | undefined;

/** How much slower than it is the processor is made; 1 leaves it. */
export const THROTTLE = Number(process.env["SUPERSTEP_MEASURE_THROTTLE"] ?? 1);

export async function newContext(): Promise<BrowserContext> {
  browser ??= await chromium.launch({ executablePath: chromiumPath() ?? "chromium", args: ["--no-sandbox", "--disable-gpu"] });
  return browser.newContext({ viewport: { width: 1440, height: 900 } });
}

export async function closeBrowser(): Promise<void> {
  await browser?.close();
  browser = undefined;
}

interface Noted {
  longest: number;
  seen: number | null;
}

/** Opens a page that notes when an element that fits `selector` is there and the page answers. */
export async function openNoted(context: BrowserContext, address: string, selector: string): Promise<Page> {
  const page = await context.newPage();
  await page.addInitScript((wanted: string) => {
    const noted: Noted = { longest: 0, seen: null };
    Object.assign(window, { noted });
    new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) noted.longest = Math.max(noted.longest, duration);
    }).observe({ type: "longtask", buffered: true });
    const look = (): void => {
      if (document.querySelector(wanted) === null) return void requestAnimationFrame(look);
      setTimeout(() => (noted.seen = performance.now()));
    };
    requestAnimationFrame(look);
  }, selector);
  if (THROTTLE > 1) await (await context.newCDPSession(page)).send("Emulation.setCPUThrottlingRate", { rate: THROTTLE });
  await page.goto(address);
  await page.waitForFunction(() => (window as unknown as { noted: Noted }).noted.seen !== null, undefined, { polling: 100, timeout: 60_000 });
  return page;
}

export function noted(page: Page): Promise<Noted> {
  return page.evaluate(() => (window as unknown as { noted: Noted }).noted);
}

/** Forgets the tasks so far. */
export async function forgetTasks(page: Page): Promise<void> {
  await page.evaluate(() => void ((window as unknown as { noted: Noted }).noted.longest = 0));
}

export async function sizes(page: Page): Promise<{ nodes: number; heap: number }> {
  const session = await page.context().newCDPSession(page);
  await session.send("HeapProfiler.collectGarbage");
  const { usedSize } = await session.send("Runtime.getHeapUsage");
  return { nodes: await page.evaluate(() => document.querySelectorAll("*").length), heap: usedSize / 1e6 };
}
