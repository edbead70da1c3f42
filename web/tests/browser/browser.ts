// A real Chromium, the pictures that are looked at, and the checks that hold on every view.

import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

import { chromium, type Browser, type BrowserContext, type Page } from "playwright-core";
import { expect } from "vitest";

const PICTURES = new URL("../../../target/page/", import.meta.url).pathname;
const AXE = createRequire(import.meta.url).resolve("axe-core/axe.min.js");
/** A folder of built files that is shown in the place of those in the program. */
const FILES = process.env["SUPERSTEP_PAGE_FILES"];
const PROGRAMS = [process.env["CHROMIUM"] ?? "", "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

export const WIDTHS = [360, 768, 1440];
export const THEMES = ["light", "dark"] as const;

let browser: Browser | undefined;

/** Returns the program of the browser; undefined where none is installed. */
export function chromiumPath(): string | undefined {
  return PROGRAMS.find((path) => path !== "" && existsSync(path));
}

export interface Look {
  width?: number;
  theme?: (typeof THEMES)[number];
}

/** Opens a page in a context of its own, which fails the test on any error in its console. */
export async function openPage(address: string, { width = 1440, theme = "light" }: Look = {}): Promise<Page & { errors: string[] }> {
  const context = await newContext(width, theme);
  const page = (await context.newPage()) as Page & { errors: string[] };
  page.errors = [];
  page.on("pageerror", (error) => page.errors.push(String(error)));
  page.on("console", (message) => {
    if (message.type() === "error" && !/Failed to load resource/.test(message.text())) page.errors.push(message.text());
  });
  await page.goto(address);
  return page;
}

/** Returns the browser of all pages, which is started for the first of them. */
export async function launchBrowser(): Promise<Browser> {
  const executablePath = chromiumPath();
  if (executablePath === undefined) throw new Error("Chromium is not installed");
  return (browser ??= await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] }));
}

async function newContext(width: number, theme: Look["theme"]): Promise<BrowserContext> {
  const context = await (await launchBrowser()).newContext({ viewport: { width, height: width < 500 ? 740 : 900 }, colorScheme: theme ?? "light", hasTouch: width < 500 });
  if (FILES !== undefined) await context.route(/\/ui\/[^/]+\.(js|css)$/, (route) => route.fulfill({ path: join(FILES, new URL(route.request().url()).pathname.replace("/ui/", "")) }));
  return context;
}

export async function closeBrowser(): Promise<void> {
  await browser?.close();
  browser = undefined;
}

/** Keeps a picture of the page under the target folder; of what is in view only, if it is not `whole`. */
export async function picture(page: Page, name: string, { whole = true } = {}): Promise<void> {
  mkdirSync(PICTURES, { recursive: true });
  await page.screenshot({ path: join(PICTURES, `${name}.png`), fullPage: whole });
}

/** Fails if the page has a serious fault for people who read it otherwise, is wider than the screen, or has logged an error. */
export async function expectSound(page: Page & { errors: string[] }): Promise<void> {
  // The policy of the page lets no script in but its own; the tool is put in from outside.
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(readFileSync(AXE, "utf8"));
  const faults = await page.evaluate(async () => {
    const { violations } = await (window as unknown as { axe: { run: (options: object) => Promise<{ violations: { id: string; impact: string; nodes: { html: string }[] }[] }> } }).axe.run({ resultTypes: ["violations"] });
    return violations.filter(({ impact }) => impact === "serious" || impact === "critical").map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).slice(0, 3).join(" | ")}`);
  });
  expect(faults).toEqual([]);
  expect(await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)).toBeLessThanOrEqual(0);
  expect(page.errors).toEqual([]);
}

/** Opens a view in each width and theme, and keeps a picture of each. */
export async function lookAt(address: string, name: string, ready: (page: Page) => Promise<unknown>): Promise<void> {
  for (const theme of THEMES) {
    for (const width of WIDTHS) {
      const page = await openPage(address, { width, theme });
      await ready(page);
      await picture(page, `${name}-${theme}-${width}`);
      await expectSound(page);
      await page.context().close();
    }
  }
}
