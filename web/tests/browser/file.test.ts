// A run in one file, opened without a server.

import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { chromiumPath, closeBrowser, expectSound, lookAt, openPage } from "./browser";
import { PROGRAM, TestServer } from "./server";

describe.skipIf(chromiumPath() === undefined)("a run in a file", () => {
  const folder = mkdtempSync(join(tmpdir(), "superstep-file-"));
  const [file, asking] = [join(folder, "run.html"), join(folder, "asking.html")];

  beforeAll(async () => {
    const server = await new TestServer({ folder }).start();
    await server.run("count <b>1</b>", "counter", {});
    await server.run("open", "approval", { request: "write to Ada" });
    await server.kill();
    execFileSync(PROGRAM, ["--store", join(folder, "store"), "export", "count <b>1</b>", "--html", file]);
    execFileSync(PROGRAM, ["--store", join(folder, "store"), "export", "open", "--html", asking]);
  });
  afterAll(async () => {
    await closeBrowser();
    rmSync(folder, { recursive: true, force: true });
  });

  test("looks right everywhere", async () => {
    await lookAt(`file://${file}`, "file", (page) => page.getByRole("tree", { name: "State" }).waitFor());
  });

  test("shows the graph, the tasks and each state", async () => {
    const page = await openPage(`file://${file}`);
    await page.getByRole("heading", { level: 1, name: "count <b>1</b>" }).waitFor();
    await page.getByRole("group", { name: "Graph" }).waitFor();
    expect(await page.getByRole("list", { name: "Timeline" }).getByRole("listitem").count()).toBeGreaterThan(3);
    const slider = page.getByRole("slider", { name: "Checkpoint" });
    const newest = await page.getByRole("tree", { name: "State" }).textContent();
    await slider.focus();
    await page.keyboard.press("Home");
    await expect.poll(() => page.getByRole("tree", { name: "State" }).textContent()).not.toBe(newest);
    await page.keyboard.press("End");
    await expect.poll(() => page.getByRole("tree", { name: "State" }).textContent()).toBe(newest);
    expect(await page.getByRole("button", { name: "Verify" }).count()).toBe(0);
    await expectSound(page);
    await page.context().close();
  });

  test("shows an open question, which is only read", async () => {
    const page = await openPage(`file://${asking}`);
    await page.getByText("do write to Ada").first().waitFor();
    await page.getByText("It was open when this file was made.", { exact: false }).waitFor();
    expect(await page.getByRole("button", { name: "Answer" }).count()).toBe(0);
    expect(await page.getByRole("textbox").count()).toBe(0);
    await expectSound(page);
    await page.context().close();
  });

  test("shows a task, and the way back", async () => {
    const page = await openPage(`file://${file}`);
    await page.getByRole("list", { name: "Timeline" }).getByRole("link").first().click();
    await page.getByRole("heading", { name: /^Read/ }).waitFor();
    await page.goBack();
    await page.getByRole("slider", { name: "Checkpoint" }).waitFor();
    await page.context().close();
  });
});
