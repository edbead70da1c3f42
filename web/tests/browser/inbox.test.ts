// The inbox: questions with their evidence, answers and comments on lines, texts that try to be more than text, and what was typed into a
// question that somebody else has answered.

import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";

import { chromiumPath, closeBrowser, expectSound, lookAt, openPage } from "./browser";
import { TestServer } from "./server";

const DIFF = `diff --git a/src/tides.rs b/src/tides.rs
--- a/src/tides.rs
+++ b/src/tides.rs
@@ -1,4 +1,4 @@ fn read()
 use std::fs;
-fn read(path: &str) -> Vec<Tide> {
+fn read(path: &Path) -> Vec<Tide> {
     parse(path)
 }
diff --git a/old.md b/new.md
similarity index 100%
rename from old.md
rename to new.md
diff --git a/gone.txt b/gone.txt
deleted file mode 100644
--- a/gone.txt
+++ /dev/null
@@ -1 +0,0 @@
-a line
`;
const HOSTILE = '<img src=x onerror="document.title=1"><script>alert(1)</script> \u202Egnp.exe\u202C zero\u200Bwidth </article></main> ' + "long".repeat(100);

describe.skipIf(chromiumPath() === undefined)("the inbox", () => {
  const server = new TestServer();
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

  const ask = (thread: string, request: string): Promise<unknown> => server.run(thread, "approval", { request });
  const open = async (width = 1440) => {
    const page = await openPage(`${server.address}/ui/`, { width });
    pages.push(page);
    return page;
  };
  const keptDrafts = (page: Page): Promise<string[]> => page.evaluate(() => Object.keys(localStorage).filter((name) => name.startsWith("superstep-answer")));
  const forget = (thread: string): Promise<unknown> => server.send("DELETE", `/threads/${encodeURIComponent(thread)}`);

  test("looks right everywhere, with an empty list first", async () => {
    await lookAt(`${server.address}/ui/`, "inbox-empty", (page) => page.getByText("Nothing waits for you").waitFor());
    await ask("a letter", "write to Ada");
    await ask("a review", `this:\n${DIFF}`);
    await server.run("a failure", "fails", { reason: "no paper" });
    await lookAt(`${server.address}/ui/`, "inbox", (page) => page.getByRole("article", { name: "a failure" }).waitFor());
    for (const thread of ["a letter", "a review", "a failure"]) await forget(thread);
  });

  test("a question comes, is answered, and leaves", async () => {
    const page = await open(360);
    await page.getByText("Nothing waits for you").waitFor();
    await ask("letter", "write to Ada");
    const card = page.getByRole("article", { name: "letter" });
    await card.getByText("do write to Ada").waitFor();
    await card.getByRole("textbox", { name: "Your name" }).fill("Ben");
    await card.getByRole("textbox", { name: /^Answer/ }).fill("yes");
    await card.getByRole("button", { name: "Answer" }).click();
    await card.waitFor({ state: "detached" });
    await expect.poll(async () => (await server.send<{ values: { status?: string } }>("GET", "/threads/letter")).values.status).toBe("approved");
  });

  test("an answer that the server did not take stays, and is sent once when it is there again", async () => {
    await ask("killed", "write to Cy");
    const page = await open();
    const card = page.getByRole("article", { name: "killed" });
    await card.getByRole("textbox", { name: "Your name" }).fill("ada");
    await card.getByRole("textbox", { name: "Note" }).fill("by post");
    await card.getByRole("textbox", { name: /^Answer/ }).fill("yes");
    await server.kill();
    await card.getByRole("button", { name: "Answer" }).click();
    await card.getByRole("alert").getByText("the server does not answer").waitFor();
    await card.getByRole("alert").getByText("It is not known whether it was stored.").waitFor();
    expect(await card.getByRole("textbox", { name: /^Answer/ }).inputValue()).toBe("yes");
    expect(await card.getByRole("textbox", { name: "Note" }).inputValue()).toBe("by post");
    await expectSound(page);
    await server.start();
    await page.getByText("Live").waitFor();
    expect(await card.getByRole("textbox", { name: /^Answer/ }).inputValue()).toBe("yes");
    await card.getByRole("button", { name: "Answer" }).click();
    await card.waitFor({ state: "detached" });
    await expect.poll(async () => (await server.send<{ values: { decision: unknown; status?: string } }>("GET", "/threads/killed")).values).toMatchObject({ decision: "yes", status: "approved" });
    const { checkpoints } = await server.send<{ checkpoints: { checkpoint: number; tasks: { id: string; node: string }[] }[] }>("GET", "/threads/killed/checkpoints");
    const reviews = checkpoints.flatMap(({ checkpoint, tasks }) => tasks.filter(({ node }) => node === "review").map(({ id }) => `${checkpoint}/tasks/${id}`));
    const tasks = await Promise.all(reviews.map((place) => server.send<{ answers: unknown[] }>("GET", `/threads/killed/checkpoints/${place}`)));
    expect(tasks.flatMap(({ answers }) => answers)).toEqual([expect.objectContaining({ by: "ada", note: "by post", value: "yes" })]);
    expect(await server.send<unknown[]>("GET", "/threads/killed/runs")).toHaveLength(2);
  });

  test("the focus goes on to the next card, and to the heading after the last, and the answer is said", async () => {
    await ask("first", "write to Ada");
    await ask("second", "write to Ben");
    const page = await open();
    for (const [thread, next] of [["first", "H3 Approve"], ["second", "H1 Inbox"]] as const) {
      const card = page.getByRole("article", { name: thread });
      await card.getByRole("textbox", { name: /^Answer/ }).fill("no");
      await card.getByRole("button", { name: "Answer" }).press("Enter");
      await card.waitFor({ state: "detached" });
      await page.getByRole("status").getByText(`Answer to ${thread} sent`).waitFor();
      await expect.poll(() => page.evaluate(() => `${document.activeElement?.tagName} ${document.activeElement?.textContent}`)).toBe(next);
      if (thread === "first") expect(await page.getByRole("article", { name: "second" }).locator(":focus").count()).toBe(1);
    }
    await expectSound(page);
  });

  test("a run that stalls comes without an event", async () => {
    const page = await open();
    await page.clock.install();
    const stalled = { kind: "stalled", thread: "idle", graph: "slow", since: new Date().toISOString(), step: 1, reason: "nodes are left to run, and no process has run it for more than a minute" };
    const answers = [{ items: [], next: null, waiting: 0 }, { items: [stalled], next: null, waiting: 1 }];
    let now = 0;
    await page.route(/\/inbox\?/, (route) => route.fulfill({ json: answers[now] }));
    await page.reload();
    await page.getByText("Nothing waits for you").waitFor();
    now = 1;
    await page.clock.fastForward(31_000);
    await page.getByRole("article", { name: "idle" }).getByRole("button", { name: "Resume" }).waitFor();
    await page.getByRole("navigation", { name: "Main" }).getByLabel("1 waiting").waitFor();
  });

  test("comments on lines of a diff travel with the answer", async () => {
    await ask("review", `this:\n${DIFF}`);
    const page = await open();
    const changes = page.getByRole("region", { name: "Changes" });
    await expect.poll(() => changes.getByRole("list", { name: "Files" }).getByRole("listitem").allTextContents()).toEqual(["src/tides.rs+1 −1", "new.mdrenamed", "gone.txtdeleted+0 −1"]);
    await changes.getByRole("button", { name: "Comment on src/tides.rs line 2", exact: true }).click();
    await changes.getByRole("textbox", { name: "Comment" }).fill("Why not\na reference?");
    await changes.getByRole("button", { name: "Add" }).click();
    await changes.getByRole("button", { name: "Comment on src/tides.rs line 2", exact: true }).press("ArrowDown");
    await page.keyboard.press("Enter");
    await changes.getByRole("textbox", { name: "Comment" }).fill("Gone soon.");
    await page.keyboard.press("Control+Enter");
    await changes.getByRole("button", { name: "Comment on gone.txt line 1", exact: true }).click();
    await changes.getByRole("textbox", { name: "Comment" }).fill("Good.");
    await changes.getByRole("button", { name: "Add" }).click();
    await changes.getByRole("button", { name: "Remove comment on src/tides.rs line 3" }).click();
    await changes.getByRole("checkbox", { name: "Seen src/tides.rs" }).check();
    await changes.getByRole("button", { name: "Comment on src/tides.rs line 2", exact: true }).waitFor({ state: "detached" });
    await expectSound(page);
    const card = page.getByRole("article", { name: "review" });
    await card.getByRole("textbox", { name: "Note" }).fill("Nearly.");
    await card.getByRole("textbox", { name: /^Answer/ }).fill("no");
    const sent = page.waitForRequest(/\/threads\/review\/runs$/);
    await card.getByRole("button", { name: "Answer" }).click();
    expect(((await sent).postDataJSON() as { command: { note: string } }).command.note).toBe("Nearly.\nsrc/tides.rs:2: Why not a reference?\ngone.txt:1: (removed line) Good.");
    await card.waitFor({ state: "detached" });
  });

  test("a file that was seen is folded when the page comes back", async () => {
    await ask("again", `this:\n${DIFF}`);
    const page = await open();
    await page.getByRole("checkbox", { name: "Seen gone.txt" }).check();
    await page.reload();
    await page.getByRole("button", { name: "Comment on src/tides.rs line 2", exact: true }).waitFor();
    expect(await page.getByRole("checkbox", { name: "Seen gone.txt" }).isChecked()).toBe(true);
    expect(await page.getByRole("button", { name: "Comment on gone.txt line 1", exact: true }).count()).toBe(0);
    await forget("again");
  });

  test("what was typed in survives a reload and another tab, until it is sent", async () => {
    await ask("kept", `this:\n${DIFF}`);
    const page = await open();
    const fill = async () => {
      const changes = page.getByRole("region", { name: "Changes" });
      await changes.getByRole("button", { name: "Comment on src/tides.rs line 2", exact: true }).click();
      await changes.getByRole("textbox", { name: "Comment" }).fill("Why not a reference?");
      await changes.getByRole("button", { name: "Add" }).click();
      await changes.getByRole("button", { name: "Comment on src/tides.rs line 3", exact: true }).click();
      await changes.getByRole("textbox", { name: "Comment" }).fill("Half a");
      await page.getByRole("textbox", { name: "Note" }).fill("Nearly.");
      await page.getByRole("textbox", { name: /^Answer/ }).fill('{"half": ');
    };
    const expectFilled = async (tab: Page) => {
      const card = tab.getByRole("article", { name: "kept" });
      await card.getByText("Why not a reference?").waitFor();
      expect(await card.getByRole("textbox", { name: "Comment" }).inputValue()).toBe("Half a");
      expect(await card.getByRole("textbox", { name: "Note" }).inputValue()).toBe("Nearly.");
      expect(await card.getByRole("textbox", { name: /^Answer/ }).inputValue()).toBe('{"half": ');
      expect(await tab.evaluate(() => document.activeElement?.tagName)).toBe("BODY");
    };
    await fill();
    await page.reload();
    await expectFilled(page);
    const tab = await page.context().newPage();
    await page.close();
    await tab.goto(`${server.address}/ui/`);
    await expectFilled(tab);
    await tab.getByRole("button", { name: "Cancel" }).click();
    await tab.getByRole("textbox", { name: /^Answer/ }).fill("no");
    const sent = tab.waitForRequest(/\/threads\/kept\/runs$/);
    await tab.getByRole("button", { name: "Answer" }).click();
    expect(((await sent).postDataJSON() as { command: { note: string } }).command.note).toBe("Nearly.\nsrc/tides.rs:2: Why not a reference?");
    await tab.getByRole("article", { name: "kept" }).waitFor({ state: "detached" });
    expect(await keptDrafts(tab)).toEqual([]);
  });

  test("what was typed in is kept if the page is left before its next frame", async () => {
    await ask("quick", "tea");
    const page = await open();
    const note = page.getByRole("textbox", { name: "Note" });
    const kept = await note.evaluate(async (box: HTMLTextAreaElement) => {
      box.value = "Nearly.";
      box.dispatchEvent(new Event("input", { bubbles: true }));
      for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
      dispatchEvent(new Event("pagehide"));
      return Object.values(localStorage).filter((words: string) => words.includes("Nearly.")).length;
    });
    expect(kept).toBe(1);
    await forget("quick");
  });

  test("a text that tries to be more than text is shown as it is", async () => {
    const name = "<b>bold</b> \u202Ename";
    await ask(name, HOSTILE);
    const page = await open(360);
    await page.getByText("do <img src=x", { exact: false }).first().waitFor();
    expect(await page.locator("main img, main script, main b").count()).toBe(0);
    expect(await page.getByText("U+202E").count()).toBeGreaterThan(0);
    expect(await page.getByText("U+200B").count()).toBeGreaterThan(0);
    expect(await page.title()).not.toBe("1");
    await expectSound(page);
    await forget(name);
  });

  test("what was typed into a question that somebody else answered stays until it is dismissed", async () => {
    await ask("shared", "write to Cy");
    const page = await open();
    const card = page.getByRole("article", { name: "shared" });
    await card.getByRole("textbox", { name: "Note" }).fill("I have thought about this for long.");
    const { id } = (await server.send<{ items: { question: { id: string } }[] }>("GET", "/threads/shared/inbox")).items[0]!.question;
    await server.send("POST", "/threads/shared/runs/wait", { assistant_id: "approval", command: { resume: { [id]: "yes" } } });
    await card.getByRole("alert").getByText("answered elsewhere").waitFor();
    expect(await card.getByRole("textbox", { name: "Note" }).inputValue()).toBe("I have thought about this for long.");
    expect(await card.getByRole("button", { name: "Answer" }).count()).toBe(0);
    await expectSound(page);
    expect(await keptDrafts(page)).toHaveLength(1);
    await card.getByRole("button", { name: "Dismiss" }).click();
    await card.waitFor({ state: "detached" });
    expect(await keptDrafts(page)).toEqual([]);
  });

  test("a diff of fifty thousand lines does not freeze the page", async () => {
    const lines = Array.from({ length: 50_000 }, (_, at) => (at % 5 === 0 ? `+line ${at}` : ` line ${at}`)).join("\n");
    await ask("large", `this:\ndiff --git a/big.rs b/big.rs\n--- a/big.rs\n+++ b/big.rs\n@@ -1,40000 +1,50000 @@\n${lines}\n`);
    const page = await open();
    await page.getByRole("button", { name: "Show 50,001 lines" }).click();
    await page.getByRole("button", { name: "Comment on big.rs line 1", exact: true }).waitFor();
    for (let step = 0; step < 8; step += 1) await page.mouse.wheel(0, 4000);
    await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight / 2));
    await page.getByRole("button", { name: /^Comment on big\.rs line 2\d{4}$/ }).first().waitFor();
    expect(await page.evaluate(() => document.querySelectorAll("*").length)).toBeLessThan(2000);
    await forget("large");
  });
});
