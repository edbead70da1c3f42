// The page under a thumb: on a phone, each view has targets that are large enough, and none is wider than the screen.

import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { chromiumPath, closeBrowser, openPage, picture } from "./browser";
import { PAGE_PROGRAM, TestServer } from "./server";
import { smallTargets } from "./targets";
import { PHASES, TASK, TASK_SCENARIO, Workflows } from "./workflows";

const DIFF = "diff --git a/a.rs b/a.rs\n--- a/a.rs\n+++ b/a.rs\n@@ -1,2 +1,2 @@\n let a = 1;\n-let b = 2;\n+let b = 3;\n";

interface View {
  name: string;
  path: string | (() => Promise<string>);
  /** Waits for the view, and opens what it has. */
  open: (page: Page) => Promise<unknown>;
}

async function expectTouchable(address: string, { name, open }: View): Promise<void> {
  const page = await openPage(address, { width: 360 });
  await open(page);
  await picture(page, `targets-${name.replaceAll(/\W+/g, "-")}`);
  const small = await smallTargets(page);
  expect(small, `${name} has targets that are too small:\n${small.join("\n")}\n`).toEqual([]);
  expect(await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth), `${name} scrolls sideways`).toBeLessThanOrEqual(0);
  expect(page.errors).toEqual([]);
  await page.context().close();
}

function named(views: View[]): [name: string, view: View][] {
  return views.map((view) => [view.name, view]);
}

/** Presses each button in its turn. */
async function press(page: Page, ...names: (string | RegExp)[]): Promise<void> {
  for (const name of names) await page.getByRole("button", typeof name === "string" ? { name, exact: true } : { name }).first().click();
}

async function openAllDetails(page: Page): Promise<void> {
  await page.evaluate(() => document.querySelectorAll("details").forEach((one) => (one.open = true)));
}

describe.skipIf(chromiumPath() === undefined)("under a thumb", () => {
  const agents = new TestServer();
  const graphs = new TestServer({ program: PAGE_PROGRAM });
  const empty = new TestServer();
  beforeAll(async () => {
    await Promise.all([agents.start(), graphs.start(), empty.start()]);
    await agents.run("tea", "approval", { request: "buy tea" });
    await agents.run("review", "approval", { request: `this:\n${DIFF}${"tea ".repeat(1500)}` });
    await agents.run("boxes", "nested", {});
    await agents.run("squares", "parallel", { items: [1, 2, 3] });
    await agents.run("broken", "fails", { reason: "no water" }).catch(() => undefined);
    await agents.run("a thread with a name that is much longer than a phone is wide", "counter", { n: 1 });
    await agents.send("POST", "/threads", { thread_id: "bare" });
    await agents.send("POST", "/runs/crons", { assistant_id: "counter", schedule: "0 9 * * 1-5", timezone: "Europe/Berlin", input: { n: 1 } });
    await graphs.run("planned", "release", { version: "1.2" });
    await graphs.run("merged", "release", { version: "1.3" });
    const { items } = await graphs.send<{ items: { question: { id: string } }[] }>("GET", "/threads/merged/inbox");
    await graphs.send("POST", "/threads/merged/runs/wait", { assistant_id: "release", command: { resume: { [items[0]?.question.id ?? ""]: "approve" } } });
    await graphs.run("one", "article", { topic: "tides", chapters: 3 });
  });
  afterAll(async () => {
    await closeBrowser();
    await Promise.all([agents.close(), graphs.close(), empty.close()]);
  });

  /** Returns the path of the newest task of a node. */
  const taskOf = async (thread: string, node: string): Promise<string> => {
    const { checkpoints } = await agents.send<{ checkpoints: { checkpoint: number; tasks: { id: string; node: string }[] }[] }>("GET", `/threads/${thread}/checkpoints`);
    const found = checkpoints.flatMap(({ checkpoint, tasks }) => tasks.filter((task) => task.node === node).map(({ id }) => `/ui/threads/${thread}/checkpoints/${checkpoint}/tasks/${id}`));
    return found[0] ?? "";
  };
  const graph = (page: Page, node: string) => page.getByRole("group", { name: "Graph" }).getByRole("button", { name: node }).waitFor();

  const nothing: View[] = [
    { name: "an empty inbox", path: "/ui/", open: (page) => page.getByText("Nothing waits for you").waitFor() },
    { name: "no threads", path: "/ui/threads", open: (page) => page.getByText("There is no thread yet").waitFor() },
    { name: "no spend", path: "/ui/spend", open: (page) => page.getByText("No cost is recorded yet").waitFor() },
    { name: "an unknown address", path: "/ui/nowhere", open: (page) => page.getByText("There is no such page").waitFor() },
    { name: "no such graph", path: "/ui/start/none", open: (page) => page.getByText("There is no graph named none").waitFor() },
  ];
  const questions: View[] = [
    { name: "a plan and changes", path: "/ui/", open: async (page) => {
      await page.getByRole("article", { name: "planned" }).getByRole("button", { name: "More" }).click();
      await page.getByRole("article", { name: "planned" }).getByRole("button", { name: "Edit" }).click();
      await page.getByRole("article", { name: "merged" }).getByRole("button", { name: "More" }).click();
      await press(page, "Comment on src/tides.rs line 2");
      await page.getByRole("textbox", { name: "Comment" }).fill("Why?");
      await press(page, "Add", "Comment on src/tides.rs line 3");
    } },
    { name: "a rejection", path: "/ui/", open: async (page) => {
      await page.getByRole("article", { name: "planned" }).getByRole("button", { name: "More" }).click();
      await press(page, "Reject");
      await page.getByRole("alertdialog").waitFor();
    } },
    { name: "a run with summaries", path: "/ui/threads/one", open: (page) => page.locator(".timeline-summary").first().waitFor() },
    { name: "the spend", path: "/ui/spend", open: (page) => page.getByRole("table", { name: "By task" }).waitFor() },
  ];
  const runs: View[] = [
    { name: "an inbox", path: "/ui/", open: async (page) => {
      for (const thread of ["tea", "broken"]) await page.getByRole("article", { name: thread }).getByRole("button").first().waitFor();
      await page.getByRole("article", { name: "review" }).getByRole("region", { name: "Changes" }).waitFor();
    } },
    { name: "the threads", path: "/ui/threads", open: async (page) => {
      await page.getByRole("checkbox", { name: "tea" }).check();
      await page.getByText("asked by review").first().waitFor();
    } },
    { name: "no thread that fits", path: "/ui/threads?q=none", open: (page) => page.getByText("No thread fits").waitFor() },
    { name: "a run that waits", path: "/ui/threads/review", open: async (page) => {
      await graph(page, "review waits");
      await page.getByRole("tree", { name: "State" }).locator('[data-path="/request"]').click();
      await page.getByRole("region", { name: "Value of /request" }).waitFor();
    } },
    { name: "an earlier checkpoint of a run", path: "/ui/threads/squares/checkpoints/2", open: async (page) => {
      await page.getByRole("link", { name: "Latest" }).waitFor();
      await graph(page, "worker");
    } },
    { name: "a way back", path: "/ui/threads/squares/checkpoints/2", open: async (page) => {
      await page.getByRole("link", { name: "Latest" }).waitFor();
      await press(page, "Rewind");
    } },
    { name: "a run that failed", path: "/ui/threads/broken", open: (page) => graph(page, "boom failed") },
    { name: "a thread without a run", path: "/ui/threads/bare", open: (page) => page.getByText("This thread has no run.").waitFor() },
    { name: "a start on a thread", path: "/ui/start/parallel?thread=bare", open: (page) => page.getByText("The run starts on the thread bare.").waitFor() },
    { name: "a form that is filled in", path: "/ui/start/parallel?from=squares", open: (page) => page.getByText("Filled in with the last input of").waitFor() },
    { name: "a run with a subgraph", path: "/ui/threads/boxes", open: async (page) => {
      await press(page, "child ran", /^Inside child/);
      await graph(page, "inner_a ran");
      await page.getByRole("list", { name: "Timeline" }).getByRole("link", { name: /^inner_b/ }).waitFor();
    } },
    { name: "a verification", path: "/ui/threads/squares", open: async (page) => {
      await press(page, "Verify");
      await expect.poll(() => page.getByRole("status").allTextContents()).toContainEqual(expect.stringMatching(/same|matches|no difference|reproduces/i));
      await openAllDetails(page);
    } },
    { name: "a what-if", path: "/ui/threads/squares", open: async (page) => {
      await press(page, "What if");
      await page.getByRole("checkbox").last().check();
      await page.locator("form .button").first().click();
      await page.getByText("The state there").waitFor();
      await openAllDetails(page);
    } },
    { name: "a fork", path: "/ui/threads/squares", open: (page) => press(page, "Fork") },
    { name: "a task", path: () => taskOf("tea", "review"), open: async (page) => {
      await page.getByRole("article").getByRole("group").waitFor();
      await page.getByRole("tree", { name: "Read" }).waitFor();
      await openAllDetails(page);
    } },
    { name: "a task that failed", path: () => taskOf("broken", "boom"), open: (page) => page.getByText("boom: no water").first().waitFor() },
    { name: "differences", path: "/ui/threads/squares/diff/1..2", open: (page) => page.getByRole("heading", { level: 1 }).waitFor() },
    { name: "the graphs", path: "/ui/start", open: (page) => page.getByText("Monday to Friday at 09:00").waitFor() },
    { name: "the form of a graph", path: "/ui/start/parallel", open: async (page) => {
      await press(page, "Add to items", "Run by a schedule");
      await page.getByText("This is Monday to Friday at 09:00.").waitFor();
    } },
    { name: "an input as JSON", path: "/ui/start/chat_echo", open: (page) => page.getByRole("textbox", { name: "messages" }).waitFor() },
    { name: "the settings", path: "/ui/settings", open: async (page) => {
      await page.getByText(/^superstep \d/).waitFor();
      await openAllDetails(page);
    } },
    { name: "the keys", path: "/ui/settings", open: async (page) => {
      await page.getByText(/^superstep \d/).waitFor();
      await page.keyboard.press("?");
      await page.getByRole("dialog", { name: "Keys" }).waitFor();
    } },
  ];

  const open = async (server: TestServer, view: View): Promise<void> => expectTouchable(server.address + (typeof view.path === "string" ? view.path : await view.path()), view);
  test.each(named(nothing))("%s", (_, view) => open(empty, view));
  test.each(named(questions))("%s", (_, view) => open(graphs, view));
  test.each(named(runs))("%s", (_, view) => open(agents, view));
});

describe.skipIf(chromiumPath() === undefined)("agent workflows under a thumb", () => {
  const workflows = new Workflows();
  beforeAll(async () => {
    await workflows.start();
    await workflows.run("done");
    await workflows.answer("done", "tasks", "approve");
    await workflows.run("split", { graph: "code-task", scenario: TASK_SCENARIO, input: { task: TASK } });
    await workflows.run("asked", { graph: "phases", plan: PHASES });
  });
  afterAll(async () => {
    await closeBrowser();
    await workflows.server.close();
  });

  const openPieces = async (page: Page): Promise<void> => {
    const work = page.getByRole("region", { name: "Work" });
    await work.getByText("Cost by role").waitFor();
    const closed = work.locator('button[aria-expanded="false"]');
    while ((await closed.count()) > 0) await closed.first().click();
  };
  const views: View[] = [
    { name: "the work of a plan", path: "/ui/threads/done", open: openPieces },
    { name: "the work of a task that was split", path: "/ui/threads/split", open: openPieces },
    { name: "an approval of phases", path: "/ui/", open: async (page) => {
      await page.getByRole("article", { name: "asked" }).getByText("Print a day").first().waitFor();
      await press(page, "More", "Choose tasks");
    } },
  ];
  test.each(named(views))("%s", (_, view) => expectTouchable(workflows.server.address + (view.path as string), view));
});
