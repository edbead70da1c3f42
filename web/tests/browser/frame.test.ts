// The frame of the page: its links, its keys, what it says of the server.

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { chromiumPath, closeBrowser, lookAt, openPage } from "./browser";
import { TestServer } from "./server";

describe.skipIf(chromiumPath() === undefined)("the frame", () => {
  const server = new TestServer();
  beforeAll(() => server.start());
  afterAll(async () => {
    await closeBrowser();
    await server.close();
  });

  test("looks right everywhere", async () => {
    await lookAt(`${server.address}/ui/settings`, "settings", (page) => page.getByRole("heading", { name: "Settings" }).waitFor());
  });

  test("has the links, and back and forward work", async () => {
    const page = await openPage(`${server.address}/`);
    const nav = page.getByRole("navigation", { name: "Main" });
    await nav.getByRole("link", { name: "Inbox" }).waitFor();
    expect(new URL(page.url()).pathname).toBe("/ui/");
    for (const name of ["Inbox", "Threads", "Start", "Spend"]) await nav.getByRole("link", { name }).waitFor();
    await page.getByRole("link", { name: "Settings" }).click();
    await page.getByRole("heading", { level: 1, name: "Settings" }).waitFor();
    await page.goBack();
    await page.getByRole("heading", { level: 1, name: "Inbox" }).waitFor();
    await page.goForward();
    await page.getByRole("heading", { level: 1, name: "Settings" }).waitFor();
    await page.context().close();
  });

  test("has a title with what waits and the name of the view or the thread", async () => {
    const page = await openPage(`${server.address}/ui/`);
    await expect.poll(() => page.title()).toBe("Inbox · superstep");
    await server.run("tea", "approval", { request: "buy tea" });
    await expect.poll(() => page.title()).toBe("(1) Inbox · superstep");
    await page.getByRole("link", { name: "tea", exact: true }).click();
    await expect.poll(() => page.title()).toBe("(1) tea · superstep");
    await page.context().close();
    await server.send("DELETE", "/threads/tea");
  });

  test("shows the keys, and the server's restart", async () => {
    const page = await openPage(`${server.address}/ui/settings`);
    await page.getByText("Live").waitFor();
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keys" }).waitFor();
    await page.keyboard.press("Escape");
    await server.kill();
    await page.getByText("The server does not answer").waitFor();
    await server.start();
    await page.getByText("Live").waitFor();
    await page.context().close();
  });
});
