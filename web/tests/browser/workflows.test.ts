// The questions of the agent workflows, answered in the inbox: the approval of a plan, a task that was halted, a budget that is used up.

import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";

import { chromiumPath, closeBrowser, expectSound, lookAt, openPage, picture } from "./browser";
import { PHASES, VERIFIERS, Workflows } from "./workflows";

describe.skipIf(chromiumPath() === undefined)("the questions of agent workflows", () => {
  const workflows = new Workflows();
  const { server } = workflows;
  let pages: Page[] = [];
  beforeAll(() => workflows.start());
  afterEach(async () => {
    for (const page of pages) await page.context().close();
    pages = [];
  });
  afterAll(async () => {
    await closeBrowser();
    await server.close();
  });

  const open = async (thread: string, width = 1440) => {
    const page = await openPage(`${server.address}/ui/`, { width });
    pages.push(page);
    const card = page.getByRole("article", { name: thread });
    await card.waitFor();
    return { page, card };
  };
  const outcome = (thread: string) => expect.poll(async () => (await workflows.values(thread))["outcome"], { timeout: 20_000 });

  test("an approval looks right everywhere", async () => {
    await workflows.run("look", { graph: "phases", plan: PHASES });
    await lookAt(`${server.address}/ui/`, "workflows-approval", (page) => page.getByRole("article", { name: "look" }).getByText("Print a day").first().waitFor());
    await workflows.answer("look", "phases", "reject");
  });

  test("a plan is approved", async () => {
    await workflows.run("approved");
    const { page, card } = await open("approved", 360);
    const tasks = card.getByRole("list", { name: "Tasks" }).getByRole("listitem");
    await card.getByText("the commands below run in a shell").waitFor();
    expect(await tasks.filter({ hasText: "Print the table" }).count()).toBeGreaterThan(0);
    await card.getByText('sh tides.sh | grep -q "high 06:12"', { exact: true }).first().waitFor();
    await expectSound(page);
    await card.getByRole("textbox", { name: "Your name" }).fill("Ada");
    await card.getByRole("button", { name: "Approve", exact: true }).click();
    await card.waitFor({ state: "detached" });
    await outcome("approved").toBe("completed");
    expect(workflows.git("approved", "log", "--format=%s", "superstep/approved").split("\n")).toHaveLength(4);
  });

  test("an edited plan is checked while it is typed, and replaces the plan", async () => {
    await workflows.run("edited");
    const { page, card } = await open("edited");
    await card.getByRole("button", { name: "Edit" }).click();
    const plan = card.getByRole("textbox", { name: "Plan" });
    const before = await plan.inputValue();
    const status = card.getByRole("status").first();
    await plan.fill(before.replace("### Task 2: Choose a day", "### Task 1: Choose a day"));
    await status.getByText("the plan cannot be executed").waitFor();
    await expectSound(page);
    await plan.fill(before.replace("### Task 2: Choose a day", "### Task 2: Choose one day"));
    await status.getByText("The plan is fine.").waitFor();
    await card.getByRole("button", { name: "Your changes" }).click();
    await card.getByText("Choose one day").first().waitFor();
    await card.getByRole("button", { name: "Approve", exact: true }).click();
    await expect.poll(async () => (await workflows.values("edited"))["plan_markdown"], { timeout: 20_000 }).toContain("Choose one day");
  });

  test("some tasks of a plan are approved", async () => {
    await workflows.run("some");
    const { page, card } = await open("some", 360);
    await card.getByRole("button", { name: "More" }).click();
    await card.getByRole("button", { name: "Choose tasks" }).click();
    await card.getByRole("group", { name: "Tasks" }).getByRole("checkbox", { name: "1 Print the table" }).check();
    await picture(page, "workflows-some", { whole: false });
    await expectSound(page);
    await card.getByRole("button", { name: "Choose tasks" }).click();
    await card.waitFor({ state: "detached" });
    await expect.poll(async () => ((await workflows.values("some"))["tasks"] as { mark: string }[]).map(({ mark }) => mark), { timeout: 20_000 }).toEqual(["done", "skipped"]);
  });

  test("a plan is rejected, which is asked once more", async () => {
    await workflows.run("rejected");
    const { page, card } = await open("rejected");
    await card.getByRole("button", { name: "More" }).click();
    await card.getByRole("textbox", { name: "Note" }).fill("Not this year.");
    await card.getByRole("button", { name: "Reject" }).click();
    await page.getByRole("alertdialog").getByRole("button", { name: "Cancel" }).click();
    await card.getByRole("button", { name: "Reject" }).click();
    await page.getByRole("alertdialog").getByRole("button", { name: "Confirm" }).click();
    await card.waitFor({ state: "detached" });
    await outcome("rejected").toBe("rejected");
    expect((await workflows.values("rejected"))["plan_feedback"]).toBe("Not this year.");
  });

  const halt = async (thread: string): Promise<void> => {
    await workflows.run(thread, { scenario: workflows.path("rejecting.yaml"), input: { max_task_reviews: 1 } });
    await workflows.answer(thread, "tasks", "approve");
  };

  test("a halted task looks right everywhere", async () => {
    await halt("halted");
    await lookAt(`${server.address}/ui/`, "workflows-halted", (page) => page.getByRole("article", { name: "halted" }).getByText("is not found").first().waitFor());
    await workflows.answer("halted", "tasks", "abort");
  });

  test("a halted task is tried again with a note", async () => {
    await halt("again");
    const { page, card } = await open("again", 360);
    await card.getByText("From another folder <b>tides.txt</b> is not found.").waitFor();
    await card.getByText("git -C", { exact: false }).first().waitFor();
    await expectSound(page);
    await card.getByRole("textbox", { name: "Note" }).fill("Use dirname.");
    const sent = page.waitForRequest(/\/threads\/again\/runs$/);
    await card.getByRole("button", { name: "Retry" }).click();
    const { command } = (await sent).postDataJSON() as { command: { resume: Record<string, unknown> } };
    expect(Object.values(command.resume)).toEqual([{ retry: { attempts: 1, note: "Use dirname." } }]);
    await expect.poll(async () => ((await workflows.values("again"))["tasks"] as { attempts: number }[])[0]?.attempts, { timeout: 20_000 }).toBe(2);
  });

  test("a halted task is skipped", async () => {
    await halt("skipped");
    const { card } = await open("skipped");
    await card.getByRole("button", { name: "More" }).click();
    await card.getByRole("button", { name: "Skip" }).click();
    await card.waitFor({ state: "detached" });
    await expect.poll(async () => ((await workflows.values("skipped"))["tasks"] as { mark: string }[])[0]?.mark, { timeout: 20_000 }).toBe("skipped");
  });

  test("a run is aborted, which is asked once more", async () => {
    await halt("aborted");
    const { page, card } = await open("aborted");
    await card.getByRole("button", { name: "More" }).click();
    await card.getByRole("button", { name: "Abort" }).click();
    await page.getByRole("alertdialog").getByRole("button", { name: "Confirm" }).click();
    await card.waitFor({ state: "detached" });
    await outcome("aborted").toBe("cancelled");
  });

  test("a budget that is used up is raised", async () => {
    await workflows.run("budget", { input: { profile: workflows.path("budget.toml") } });
    await workflows.answer("budget", "tasks", "approve");
    const { page, card } = await open("budget", 360);
    await expectSound(page);
    await card.getByRole("textbox", { name: "Cost" }).fill("1");
    await card.getByRole("button", { name: "Raise" }).click();
    await card.waitFor({ state: "detached" });
    await outcome("budget").toBe("completed");
  });

  test("a developer's question is answered", async () => {
    await workflows.run("asked", { scenario: workflows.path("asking.yaml") });
    await workflows.answer("asked", "tasks", { approve: { tasks: ["1"] } });
    const { page, card } = await open("asked", 360);
    await card.getByText("Which", { exact: false }).first().waitFor();
    await expectSound(page);
    await picture(page, "workflows-asked");
    await card.getByRole("textbox", { name: "Text" }).fill("The times are in UTC.");
    const sent = page.waitForRequest(/\/threads\/asked\/runs$/);
    await card.getByRole("button", { name: "Answer" }).click();
    const { command } = (await sent).postDataJSON() as { command: { resume: Record<string, unknown> } };
    expect(Object.values(command.resume)).toEqual([{ reply: { text: "The times are in UTC." } }]);
    await card.waitFor({ state: "detached" });
  });

  const giveUp = (thread: string): Promise<void> => workflows.run(thread, { graph: "code-task", scenario: workflows.path("endless.yaml"), input: { task: workflows.path("endless.md"), verifiers: VERIFIERS } });

  test("a task that was given up is decided by a person", async () => {
    await giveUp("given-up");
    const { page, card } = await open("given-up", 360);
    await card.getByRole("list", { name: "Findings" }).getByText("print.sh", { exact: false }).first().waitFor();
    await card.getByText("git -C", { exact: false }).first().waitFor();
    await expectSound(page);
    await picture(page, "workflows-given-up");
    await card.getByRole("button", { name: "More" }).click();
    await card.getByText("Override: DONE.").waitFor();
    await card.getByRole("button", { name: "Approve", exact: true }).click();
    await picture(page, "workflows-override");
    await card.getByRole("textbox", { name: "Reason" }).fill("The loop is closed by its caller.");
    await card.getByRole("button", { name: "Approve", exact: true }).click();
    await card.waitFor({ state: "detached" });
    await outcome("given-up").toBe("done");
  });

  test("a phase whose subtask failed says which, and ends", async () => {
    await workflows.run("phase", { graph: "phases", plan: PHASES, scenario: workflows.path("rejecting.yaml") });
    await workflows.answer("phase", "phases", "approve");
    const { page, card } = await open("phase", 768);
    await expectSound(page);
    await picture(page, "workflows-phase");
    await card.getByRole("button", { name: "More" }).click();
    await card.getByRole("button", { name: "Abort" }).click();
    await page.getByRole("alertdialog").getByRole("button", { name: "Confirm" }).click();
    await card.waitFor({ state: "detached" });
    await outcome("phase").toBe("cancelled");
  });
});
