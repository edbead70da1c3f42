// The work of agent workflows on the page of a run: tasks, phases and attempts of real runs with scripted agents.

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { chromiumPath, closeBrowser, expectSound, lookAt, openPage, picture } from "./browser";
import { PHASES, TASK, TASK_SCENARIO, Workflows } from "./workflows";

describe.skipIf(chromiumPath() === undefined)("the work of a run", () => {
  const workflows = new Workflows();
  const { server } = workflows;
  beforeAll(async () => {
    await workflows.start();
    await workflows.run("done");
    await workflows.answer("done", "tasks", "approve");
    await workflows.run("halted", { scenario: workflows.path("rejecting.yaml"), input: { max_task_reviews: 2 } });
    await workflows.answer("halted", "tasks", "approve");
    await workflows.run("split", { graph: "code-task", scenario: TASK_SCENARIO, input: { task: TASK } });
  });
  afterAll(async () => {
    await closeBrowser();
    await server.close();
  });
  const address = (thread: string): string => `${server.address}/ui/threads/${thread}`;

  test.each(["done", "halted", "split"])("%s looks right everywhere", async (thread) => {
    await lookAt(address(thread), `work-${thread}`, (page) => page.getByRole("region", { name: "Work" }).getByText("Cost by role").waitFor());
  });

  test("tasks have marks, attempts, reviews, commits and costs", async () => {
    const page = await openPage(address("done"), { width: 360 });
    const work = page.getByRole("region", { name: "Work" });
    const first = work.getByRole("list", { name: "Tasks" }).getByRole("listitem").first();
    await first.getByText("done", { exact: true }).waitFor();
    for (const words of ["2 attempts", "2 reviews", "$0.0110"]) await first.getByText(words, { exact: true }).waitFor();
    const commit = workflows.git("done", "rev-parse", "superstep/done~1").trim();
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await first.getByRole("button", { name: `Copy commit ${commit.slice(0, 9)}` }).click();
    await first.getByText("Copied").waitFor();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(commit);
    await first.getByRole("button", { name: /Print the table/ }).click();
    await first.getByText("developer", { exact: true }).waitFor();
    await work.getByRole("button", { name: "Reviews and failed checks of all attempts" }).click();
    const reviews = work.getByRole("list", { name: "Reviews and failed checks" });
    await reviews.getByText("From another folder tides.txt is not found.").waitFor();
    await expect.poll(() => reviews.locator("strong").allTextContents()).toEqual(["Task 2, attempt 1", "Task 1, attempt 2", "Task 1, attempt 1"]);
    await expectSound(page);
    await picture(page, "work-reviews");
    await reviews.getByRole("link").last().click();
    await page.getByRole("heading", { level: 1, name: "reviewer" }).waitFor();
    await page.context().close();
  });

  test("a halted task has its comments and the command that shows its work, which works", async () => {
    const page = await openPage(address("halted"));
    const task = page.getByRole("region", { name: "Work" }).getByRole("list", { name: "Tasks" }).getByRole("listitem").first();
    await task.getByText("halted", { exact: true }).waitFor();
    await task.getByRole("button", { name: /Print the table/ }).click();
    await task.getByText("From another folder <b>tides.txt</b> is not found.").first().waitFor();
    const commands = await task.getByRole("list", { name: "Work that was not accepted" }).locator("code").allTextContents();
    expect(commands.at(-1)).toBe(`git -C ${workflows.path("halted")} show refs/superstep/halted/task-1/attempt-2`);
    expect(workflows.git("halted", "show", "refs/superstep/halted/task-1/attempt-2")).toContain("tides.sh");
    await expectSound(page);
    await page.context().close();
  });

  test("attempts have decisions and findings, and a split has its children", async () => {
    const page = await openPage(address("split"));
    const work = page.getByRole("region", { name: "Work" });
    const attempts = work.getByRole("list", { name: "Attempts" });
    await attempts.getByRole("button", { name: /Attempt 1/ }).click();
    await attempts.getByRole("list", { name: "Findings of attempt 1" }).getByText("draw.sh:3").waitFor();
    await attempts.getByText("git -C", { exact: false }).first().waitFor();
    expect(await work.getByRole("list", { name: "Smaller tasks" }).locator(".mark").allTextContents()).toEqual(["done", "done"]);
    await expectSound(page);
    await page.context().close();
  });

  test("a file of the run has the same work", async () => {
    const shown = async (at: string): Promise<string[]> => {
      const page = await openPage(at);
      const work = page.getByRole("region", { name: "Work" });
      await work.getByText("Cost by role").waitFor();
      const tasks = await work.getByRole("list", { name: "Tasks" }).getByRole("listitem").allInnerTexts();
      await expectSound(page);
      await page.context().close();
      return tasks;
    };
    const tasks = await shown(address("done"));
    expect(tasks.length).toBeGreaterThan(1);
    expect(await shown(`file://${await workflows.file("done")}`)).toEqual(tasks);
  });

  test("a phase says where its worktrees are while it runs, and the past is shown as it was", async () => {
    await workflows.run("phases", { graph: "phases", plan: PHASES, scenario: workflows.path("slow.yaml") });
    const { items } = await server.send<{ items: { question: { id: string } }[] }>("GET", "/threads/phases/inbox");
    await server.send("POST", "/threads/phases/runs", { assistant_id: "phases", command: { resume: { [items[0]?.question.id ?? ""]: "approve" } } });
    const page = await openPage(address("phases"), { width: 360 });
    const work = page.getByRole("region", { name: "Work" });
    const subtasks = work.getByRole("list", { name: "Subtasks of phase 2" });
    const marks = () => expect.poll(() => subtasks.locator(".mark").allTextContents(), { timeout: 20_000 });
    await marks().toEqual(["ended", "running", "ended"]);
    const folder = `${workflows.path("phases")}/.superstep/worktrees/superstep%2Fphases/phase-2-attempt-1-task-2b`;
    await subtasks.getByRole("button", { name: `Copy folder ${folder}` }).waitFor();
    await subtasks.getByRole("link", { name: "Watch 2b" }).waitFor();
    expect(workflows.git("phases", "worktree", "list")).toContain("phase-2-attempt-1-task-2b");
    await expectSound(page);
    await picture(page, "work-phases");
    await page.getByRole("slider", { name: "Checkpoint" }).press("Home");
    await work.waitFor({ state: "detached" });
    await page.getByRole("slider", { name: "Checkpoint" }).press("End");
    await marks().toEqual(["ended", "running", "ended"]);
    await server.send("POST", "/runs/cancel?action=interrupt", { thread_id: "phases", run_ids: (await server.send<{ run_id: string }[]>("GET", "/threads/phases/runs")).map(({ run_id }) => run_id) });
    await marks().toEqual(["ended", "stopped", "ended"]);
    await page.context().close();
  });

  test("a run of another program has no such part", async () => {
    await server.run("letter", "approval", { request: "write to Ada" }).catch(() => undefined);
    const page = await openPage(address("letter"));
    await page.getByRole("tree", { name: "State" }).getByRole("treeitem").first().waitFor();
    expect(await page.getByRole("region", { name: "Work" }).count()).toBe(0);
    await page.context().close();
  });
});
