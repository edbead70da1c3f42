// The list of threads: thousands of them, found, followed, cancelled and deleted.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Page } from "playwright-core";

import { chromiumPath, closeBrowser, expectSound, lookAt, openPage, picture } from "./browser";
import { TestServer } from "./server";

const ALL = 2000;

describe.skipIf(chromiumPath() === undefined)("the threads", () => {
  const server = new TestServer();
  const few = new TestServer();
  beforeAll(async () => {
    await Promise.all([server.start(), few.start()]);
    const names = Array.from({ length: ALL }, (_, at) => `order-${String(at).padStart(4, "0")}`);
    while (names.length > 0) await Promise.all(names.splice(0, 20).map((name) => server.send("POST", "/threads", { thread_id: name })));
    await few.run("counted", "counter", { n: 1 });
    await few.run("asked", "approval", { request: "ship the new release" });
    await few.run("failed", "fails", { reason: "no disk" }).catch(() => undefined);
    await few.run("a thread with a name that is much longer than any column of a table on a phone is wide", "parallel", { items: [1, 2, 3] });
    await few.send("POST", "/threads", { thread_id: "new", metadata: { title: "Pay the invoice of March" } });
    await few.send("POST", "/threads/ticking/runs", { assistant_id: "slow", if_not_exists: "create", input: { steps: 3000, ms: 200 } });
  });
  afterAll(async () => {
    await closeBrowser();
    await Promise.all([server.close(), few.close()]);
  });

  const rows = (page: Page) => page.getByRole("table", { name: "Threads" }).getByRole("link");
  const search = (page: Page) => page.getByRole("searchbox", { name: "Search" });

  test("look right everywhere", async () => {
    await lookAt(`${few.address}/ui/threads`, "threads", (page) => page.getByText("asked by review").waitFor());
  });

  test("are shown a page at a time, with few nodes in the document", async () => {
    const page = await openPage(`${server.address}/ui/threads`);
    await page.getByText("2,000 threads").waitFor();
    await page.getByRole("link", { name: "order-1999" }).waitFor();
    const started = Date.now();
    await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight));
    await page.getByRole("link", { name: "order-0000" }).waitFor();
    expect(await page.evaluate(() => document.querySelectorAll("*").length)).toBeLessThanOrEqual(2000);
    expect(Date.now() - started).toBeLessThan(20_000);
    await picture(page, "threads-end", { whole: false });
    await expectSound(page);
    await page.context().close();
  });

  test("are found by a part of their names, and Back shows all again", async () => {
    const page = await openPage(`${server.address}/ui/threads`);
    await page.getByText("2,000 threads").waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("ORDER-012", { delay: 30 });
    await page.getByText("10 threads").waitFor();
    expect(new URL(page.url()).search).toBe("?q=ORDER-012");
    expect((await rows(page).allTextContents()).sort()).toEqual(Array.from({ length: 10 }, (_, at) => `order-012${at}`));
    await page.goBack();
    await page.getByText("2,000 threads").waitFor();
    expect(await search(page).inputValue()).toBe("");
    await page.goForward();
    await page.getByText("10 threads").waitFor();
    expect(await search(page).inputValue()).toBe("ORDER-012");
    await search(page).fill("none has this");
    await page.getByRole("heading", { name: "No thread fits" }).waitFor();
    await page.context().close();
  });

  test("are filtered by status and graph, which the address keeps", async () => {
    const page = await openPage(`${few.address}/ui/threads`);
    await page.getByRole("combobox", { name: "Status" }).selectOption({ label: "Waiting" });
    await page.getByText("1 thread", { exact: true }).waitFor();
    expect(await rows(page).allTextContents()).toEqual(["asked"]);
    await page.getByRole("combobox", { name: "Status" }).selectOption({ label: "All statuses" });
    await page.getByRole("combobox", { name: "Graph" }).selectOption("parallel");
    await page.getByRole("link", { name: "a thread with a name" }).waitFor();
    await page.reload();
    await page.getByText("1 thread", { exact: true }).waitFor();
    expect(await page.getByRole("combobox", { name: "Graph" }).inputValue()).toBe("parallel");
    await page.context().close();
  });

  test("are walked, selected and opened with the keyboard", async () => {
    const page = await openPage(`${server.address}/ui/threads?q=order-199`);
    await page.getByRole("link", { name: "order-1990" }).waitFor();
    const second = (await rows(page).allTextContents())[1] ?? "";
    for (const key of ["j", "ArrowDown", "ArrowDown", "k", "x"]) await page.keyboard.press(key);
    await page.getByText("1 selected").waitFor();
    expect(await page.getByRole("checkbox", { name: second }).isChecked()).toBe(true);
    await page.keyboard.press("Enter");
    await page.waitForURL(`**/ui/threads/${second}`);
    await page.goBack();
    await page.getByRole("link", { name: "order-1990" }).waitFor();
    expect(await search(page).inputValue()).toBe("order-199");
    await page.context().close();
  });

  test("leave Enter to buttons and links", async () => {
    const page = await openPage(`${few.address}/ui/threads`);
    await page.getByRole("checkbox", { name: "counted", exact: true }).check();
    await page.getByRole("button", { name: "Delete" }).focus();
    await page.keyboard.press("Enter");
    const dialog = page.getByRole("alertdialog", { name: "Delete 1 thread?" });
    await dialog.waitFor();
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Spend" }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "Spend" }).waitFor();
    await page.context().close();
  });

  test("are deleted once that is confirmed, and those that run are named", async () => {
    const page = await openPage(`${few.address}/ui/threads`);
    for (const name of ["new", "ticking"]) await page.getByRole("checkbox", { name, exact: true }).check();
    await page.getByRole("button", { name: "Delete" }).click();
    const dialog = page.getByRole("alertdialog", { name: "Delete 2 threads?" });
    await picture(page, "threads-delete");
    await dialog.getByRole("button", { name: "Cancel" }).click();
    expect(await few.send<number>("POST", "/threads/count", {})).toBe(6);
    await page.getByRole("button", { name: "Delete" }).click();
    await dialog.getByRole("button", { name: "Confirm" }).click();
    await page.getByText("1 thread deleted; 1 was not:").waitFor();
    await page.getByText("the thread `ticking` has runs that have not ended: cancel them first").waitFor();
    await page.getByText("5 threads").waitFor();
    await picture(page, "threads-deleted");
    expect(await page.getByRole("checkbox", { name: "ticking" }).isChecked()).toBe(true);
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.getByText("1 thread cancelled.").waitFor();
    await page.locator(".threads-row", { hasText: "ticking" }).getByText("stopped").waitFor();
    await expectSound(page);
    await page.context().close();
  });

  test("are brought in from a file, under another name if theirs is taken", async () => {
    const page = await openPage(`${few.address}/ui/threads`);
    const file = Buffer.from(await (await fetch(`${few.address}/threads/counted/export`)).arrayBuffer());
    const choose = (name: string, buffer: Buffer) => page.getByLabel("Import", { exact: true }).setInputFiles({ name, mimeType: "", buffer });
    await choose("broken.superstep", Buffer.from("no thread"));
    await page.getByRole("alert").waitFor();
    await choose("counted.superstep", file);
    await page.getByText("the thread `counted` exists").waitFor();
    await page.getByRole("textbox", { name: "Name", exact: true }).fill("counted elsewhere");
    await picture(page, "threads-import");
    await expectSound(page);
    await page.getByRole("button", { name: "Import under this name" }).click();
    await page.getByRole("heading", { level: 1, name: "counted elsewhere" }).waitFor();
    await few.send("DELETE", "/threads/counted%20elsewhere");
    await page.context().close();
  });

  test("change as they run; new ones wait while others are looked at", async () => {
    const page = await openPage(`${server.address}/ui/threads`);
    await page.getByRole("link", { name: "order-1999" }).waitFor();
    await server.run("order-1998", "approval", { request: "tea" });
    await page.locator(".threads-row", { hasText: "order-1998" }).getByText("waits").waitFor();
    await page.mouse.wheel(0, 3000);
    await page.getByRole("link", { name: "order-1930" }).waitFor();
    const place = await page.getByRole("link", { name: "order-1930" }).boundingBox();
    await server.run("brand-new", "counter", { n: 1 });
    await page.getByRole("button", { name: "1 new" }).waitFor();
    expect(await page.getByRole("link", { name: "order-1930" }).boundingBox()).toEqual(place);
    await picture(page, "threads-fresh", { whole: false });
    await page.getByRole("button", { name: "1 new" }).click();
    await page.getByRole("link", { name: "brand-new" }).waitFor();
    await page.getByText("2,001 threads").waitFor();
    await server.run("and-another", "counter", { n: 1 });
    await page.getByRole("link", { name: "and-another" }).waitFor();
    await server.send("DELETE", "/threads/and-another");
    await page.locator(".threads-row", { hasText: "and-another" }).getByText("deleted").waitFor();
    await expectSound(page);
    await page.context().close();
  });

  test("keep their place when Back leads to them", async () => {
    const page = await openPage(`${server.address}/ui/threads`);
    await page.getByRole("link", { name: "order-1990" }).waitFor();
    await page.mouse.wheel(0, 20_000);
    await page.getByRole("link", { name: "order-1545" }).click();
    await page.waitForURL(/order-1545$/);
    await page.goBack();
    await page.getByRole("link", { name: "order-1545" }).waitFor();
    await page.context().close();
  });
});
