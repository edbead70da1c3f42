// Questions of a program of one's own about a plan, changes, findings and prose, which the schema of the question marks as such.

import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";

import { chromiumPath, closeBrowser, expectSound, lookAt, openPage } from "./browser";
import { PAGE_PROGRAM, TestServer } from "./server";

describe.skipIf(chromiumPath() === undefined)("questions with evidence", () => {
  const server = new TestServer({ program: PAGE_PROGRAM });
  let pages: Page[] = [];
  beforeAll(() => server.start());
  afterEach(async () => {
    for (const page of pages) await page.context().close();
    pages = [];
  });
  afterAll(async () => {
    await closeBrowser();
    await server.close();
  });

  /** Asks about a plan, and shows the question. */
  const ask = async (thread: string, width = 1440) => {
    await server.run(thread, "release", { version: "1.2" });
    const page = await openPage(`${server.address}/ui/`, { width });
    pages.push(page);
    return { page, card: page.getByRole("article", { name: thread }) };
  };
  const values = async (thread: string): Promise<Record<string, unknown>> => (await server.send<{ values: Record<string, unknown> }>("GET", `/threads/${thread}/state`)).values;

  test("a plan is shown with its tasks, and approved", async () => {
    const { page, card } = await ask("planned", 360);
    const tasks = card.getByRole("list", { name: "Tasks" }).getByRole("listitem");
    await tasks.filter({ hasText: "Choose a day" }).first().waitFor();
    await card.getByText('sh tides.sh | grep -q "high 06:12"').first().waitFor();
    await expectSound(page);
    await card.getByRole("button", { name: "Approve", exact: true }).click();
    await card.getByText("May this be merged?").waitFor();
    expect((await values("planned"))["plan"]).toContain("### Task 2: Choose a day");
  });

  test("a plan is edited in its place", async () => {
    const { page, card } = await ask("edited");
    await card.getByRole("button", { name: "Edit" }).click();
    const plan = card.getByRole("textbox", { name: "Plan" });
    await plan.fill((await plan.inputValue()).replace("Choose a day", "Choose one day"));
    await card.getByRole("status").getByText("The plan is fine.").waitFor();
    await expectSound(page);
    await card.getByRole("button", { name: "Approve", exact: true }).click();
    await card.getByText("May this be merged?").waitFor();
    expect((await values("edited"))["plan"]).toContain("Choose one day");
  });

  test("rejecting a plan is asked once more", async () => {
    const { page, card } = await ask("rejected");
    await card.getByRole("button", { name: "More" }).click();
    await card.getByRole("button", { name: "Reject" }).click();
    await page.getByRole("alertdialog").getByRole("button", { name: "Confirm" }).click();
    await card.waitFor({ state: "detached" });
    await expect.poll(async () => (await values("rejected"))["outcome"]).toBe("rejected");
  });

  test("changes, findings and prose are shown as what they are, and comments go with the answer", async () => {
    const { page, card } = await ask("merged");
    await card.getByRole("button", { name: "Approve", exact: true }).click();
    await card.getByText("May this be merged?").waitFor();
    const changes = card.getByRole("region", { name: "Changes" });
    await changes.waitFor();
    await expect.poll(() => changes.getByRole("list", { name: "Files" }).getByRole("listitem").allTextContents()).toEqual(["src/tides.rs+1 −1", "notes.mdnew+1 −0"]);
    const findings = card.getByRole("list", { name: "Remarks" });
    await findings.getByText("A missing file is not <b>reported</b>.").waitFor();
    await findings.getByText("src/tides.rs:3").waitFor();
    await card.locator("strong", { hasText: "paths" }).waitFor();
    await lookAt(`${server.address}/ui/`, "evidence", (shown) => shown.getByRole("region", { name: "Changes" }).first().waitFor());
    await changes.getByRole("button", { name: "Comment on src/tides.rs line 2", exact: true }).click();
    await changes.getByRole("textbox", { name: "Comment" }).fill("Why a path?");
    await changes.getByRole("button", { name: "Add" }).click();
    await expectSound(page);
    await card.getByRole("button", { name: "More" }).click();
    await card.getByRole("button", { name: "Revise", exact: true }).click();
    await card.waitFor({ state: "detached" });
    await expect.poll(async () => (await values("merged"))["note"]).toBe("src/tides.rs:2: Why a path?");
    expect((await values("merged"))["outcome"]).toBe("revised");
  });
});
