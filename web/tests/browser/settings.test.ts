// The settings: the key and its role, the theme, the name, the server.

import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { chromiumPath, closeBrowser, expectSound, lookAt, openPage, picture } from "./browser";
import { PROGRAM, TestServer } from "./server";

describe.skipIf(chromiumPath() === undefined)("the settings", () => {
  const folder = mkdtempSync(join(tmpdir(), "superstep-keys-"));
  const file = join(folder, "keys.json");
  const newKey = (name: string, role: string): string => execFileSync(PROGRAM, ["keys", "add", name, "--role", role, "--api-keys", file], { encoding: "utf8" }).trim().split("\n").at(-1) ?? "";
  const server = new TestServer();
  const locked = new TestServer({ args: ["--api-keys", file] });
  const keys: Record<string, string> = {};
  beforeAll(async () => {
    for (const role of ["read", "run"]) keys[role] = newKey(`ann-${role}`, role);
    await Promise.all([server.start(), locked.start()]);
  });
  afterAll(async () => {
    await closeBrowser();
    await Promise.all([server.close(), locked.close()]);
    rmSync(folder, { recursive: true, force: true });
  });

  test("look right everywhere", async () => {
    await lookAt(`${server.address}/ui/settings`, "settings", (page) => page.getByText(/^superstep \d/).waitFor());
  });

  test("keep the theme and the name", async () => {
    const page = await openPage(`${server.address}/ui/settings`);
    await page.getByRole("radio", { name: "Dark" }).check();
    await page.getByRole("textbox", { name: "Your name" }).fill("Ada");
    await page.reload();
    expect(await page.getByRole("radio", { name: "Dark" }).isChecked()).toBe(true);
    expect(await page.getByRole("textbox", { name: "Your name" }).inputValue()).toBe("Ada");
    expect(await page.evaluate(() => getComputedStyle(document.documentElement).colorScheme)).toBe("dark");
    await page.getByText("This server has no keys").waitFor();
    const docs = await page.getByRole("link", { name: "/docs" }).getAttribute("href");
    expect((await fetch(`${server.address}${docs}`)).status).toBe(200);
    await page.context().close();
  });

  test("show the role of the key, and what it is not enough for", async () => {
    const page = await openPage(`${locked.address}/ui/threads`);
    await page.getByRole("heading", { level: 1, name: "This server asks for a key" }).waitFor();
    await picture(page, "settings-key-wanted");
    await expectSound(page);
    await page.getByLabel("Key", { exact: true }).fill("superstep_0000");
    await page.getByRole("button", { name: "Use" }).click();
    await page.getByText("The key was refused").waitFor();
    await page.getByLabel("Key", { exact: true }).fill(keys["read"] ?? "");
    await page.getByRole("button", { name: "Use" }).click();
    await page.getByRole("heading", { name: "There is no thread yet" }).waitFor();
    await page.getByText("Your key “ann-read” has the role read: to cancel a run needs the role run.").waitFor();
    await page.getByRole("link", { name: "Inbox", exact: true }).click();
    await page.getByText("Your key “ann-read” has the role read: to answer a question needs the role answer.").waitFor();
    await picture(page, "settings-role-note");
    await expectSound(page);
    await page.getByRole("link", { name: "Start", exact: true }).click();
    await page.getByRole("link", { name: "counter" }).click();
    await page.getByText("Your key “ann-read” has the role read: to start a run needs the role run.").waitFor();
    await page.getByRole("button", { name: "Start" }).click();
    await page.getByRole("alert").getByText("403").waitFor();
    await picture(page, "settings-refused");
    await page.getByRole("link", { name: "Use another key" }).click();
    await page.getByText("The key “ann-read” has the role read.").waitFor();
    await page.getByLabel("Key", { exact: true }).fill(keys["run"] ?? "");
    await page.getByRole("button", { name: "Use" }).click();
    await page.getByText("The key “ann-run” has the role run.").waitFor();
    await page.getByRole("link", { name: "Inbox", exact: true }).click();
    await page.getByText("Nothing waits for you").waitFor();
    expect(await page.getByText("needs the role").count()).toBe(0);
    expect(await page.evaluate(() => JSON.stringify([sessionStorage, localStorage]))).not.toContain("superstep_");
    await expectSound(page);
    await page.context().close();
  });
});
