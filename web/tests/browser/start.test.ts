// Starting a run: the form of an input, what is wrong in it, and schedules.

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { chromiumPath, closeBrowser, expectSound, lookAt, openPage, picture } from "./browser";
import { TestServer } from "./server";

describe.skipIf(chromiumPath() === undefined)("the start", () => {
  const server = new TestServer();
  beforeAll(async () => {
    await server.start();
    await server.send("POST", "/runs/crons", { assistant_id: "counter", schedule: "0 9 * * 1-5", timezone: "Europe/Berlin", input: { n: 1 } });
    await server.send("POST", "/assistants", { graph_id: "chat_echo", name: "loud", description: "Repeats with a shout", context: { prefix: "HEY " } });
    await server.run("taken", "counter", { n: 1 });
  });
  afterAll(async () => {
    await closeBrowser();
    await server.close();
  });

  test("looks right everywhere", async () => {
    await lookAt(`${server.address}/ui/start`, "start", (page) => page.getByText("Monday to Friday at 09:00").waitFor());
    await lookAt(`${server.address}/ui/start/parallel`, "start-form", async (page) => {
      await page.getByRole("button", { name: "Add to items" }).click();
      await page.getByRole("button", { name: "Run by a schedule" }).click();
      await page.getByText("This is Monday to Friday at 09:00.").waitFor();
      await page.getByRole("button", { name: "Start" }).click();
      await page.getByText("must be a number").waitFor();
    });
  });

  test("leads from a graph to its form and to the thread of its run, and back", async () => {
    const page = await openPage(`${server.address}/ui/start`);
    await page.getByRole("link", { name: "approval" }).click();
    await page.getByRole("heading", { level: 1, name: "Start approval" }).waitFor();
    await page.getByRole("textbox", { name: "request", exact: true }).fill("ship it");
    await page.getByRole("textbox", { name: "Thread name" }).fill("ship 7/8");
    await page.getByRole("button", { name: "Start" }).click();
    await page.waitForURL("**/ui/threads/ship%207%2F8");
    await expect.poll(() => server.send<{ status: string; values: object }>("GET", "/threads/ship%207%2F8")).toMatchObject({ status: "interrupted", values: { request: "ship it" } });
    await page.goBack();
    await page.getByRole("heading", { level: 1, name: "Start approval" }).waitFor();
    await page.goBack();
    await page.getByRole("heading", { level: 1, name: "Start", exact: true }).waitFor();
    await page.goForward();
    await page.getByRole("textbox", { name: "request", exact: true }).waitFor();
    await page.getByRole("button", { name: "Start" }).click();
    await page.waitForURL(/\/ui\/threads\/approval-[0-9a-f]{8}$/);
    await page.context().close();
  });

  test("says at its field what is wrong, here and by the server", async () => {
    const page = await openPage(`${server.address}/ui/start/slow`);
    const steps = page.getByRole("textbox", { name: "steps", exact: true });
    await steps.fill("three");
    await page.getByRole("button", { name: "Start" }).click();
    await page.getByText("steps must be a number").waitFor();
    expect(await steps.getAttribute("aria-invalid")).toBe("true");
    expect(await steps.evaluate((box) => box === document.activeElement)).toBe(true);
    await steps.fill("1e300");
    await page.getByText("steps must be a number").waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Start" }).click();
    await page.getByText(/steps takes .*expected i64/).waitFor();
    expect(await steps.getAttribute("aria-invalid")).toBe("true");
    expect(await page.getByRole("textbox", { name: "ms", exact: true }).getAttribute("aria-invalid")).toBe("false");
    await picture(page, "start-refused");
    await expectSound(page);
    await page.getByRole("button", { name: "As JSON" }).click();
    const json = page.getByRole("textbox", { name: "Input as JSON" });
    expect(await json.inputValue()).toContain('"steps": 1e+300');
    await json.fill('{"steps": ');
    await page.getByRole("button", { name: "Start" }).click();
    await page.getByText("This is no JSON").waitFor();
    await json.fill('{"steps": "x"}');
    await page.getByRole("button", { name: "Start" }).click();
    await page.getByText("steps must be a number").waitFor();
    await json.fill('{"steps": 1, "ms": 1}');
    await page.getByRole("button", { name: "Start" }).click();
    await page.waitForURL(/\/ui\/threads\/slow-/);
    await page.context().close();
  });

  test("takes no name that a thread has", async () => {
    const page = await openPage(`${server.address}/ui/start/counter`);
    await page.getByRole("textbox", { name: "Thread name" }).fill("taken");
    await page.getByRole("button", { name: "Start" }).click();
    await page.getByText("A thread has this name. Choose another.").waitFor();
    expect(await page.getByRole("textbox", { name: "Thread name" }).getAttribute("aria-invalid")).toBe("true");
    await page.context().close();
  });

  test("starts the assistant that is chosen", async () => {
    const page = await openPage(`${server.address}/ui/start/chat_echo`);
    await page.getByRole("combobox", { name: "Assistant" }).selectOption("loud");
    await page.getByText("Repeats with a shout").waitFor();
    await page.getByRole("textbox", { name: "messages" }).fill('[{"role": "user", "content": "you"}]');
    await page.getByRole("textbox", { name: "Thread name" }).fill("shouted");
    await page.getByRole("button", { name: "Start" }).click();
    await page.waitForURL("**/ui/threads/shouted");
    await expect.poll(async () => JSON.stringify(await server.send("GET", "/threads/shouted"))).toContain("HEY you");
    await page.context().close();
  });

  test("starts again with the last input of a thread", async () => {
    await server.run("first/1", "slow", { steps: 2, ms: 1 });
    const page = await openPage(`${server.address}/ui/threads/first%2F1`);
    const field = (name: string) => page.getByRole("textbox", { name, exact: true });
    const filled = page.getByText("Filled in with the last input of");
    await page.getByRole("link", { name: "Start again", exact: true }).click();
    await page.waitForURL("**/ui/start/slow?from=first%2F1");
    await filled.waitFor();
    expect([await field("steps").inputValue(), await field("ms").inputValue()]).toEqual(["2", "1"]);
    await picture(page, "start-again");
    await expectSound(page);
    // Without a record of the run, the input is that of its checkpoint.
    const [run] = await server.send<{ run_id: string }[]>("GET", "/threads/first%2F1/runs");
    await server.send("DELETE", `/threads/first%2F1/runs/${run?.run_id}`);
    await page.reload();
    await filled.waitFor();
    expect([await field("steps").inputValue(), await field("ms").inputValue()]).toEqual(["2", "1"]);
    await field("steps").fill("3");
    await field("Thread name").fill("second/1");
    await page.getByRole("button", { name: "Start", exact: true }).click();
    await page.waitForURL("**/ui/threads/second%2F1");
    await expect.poll(() => server.send("GET", "/threads/second%2F1")).toMatchObject({ status: "idle", values: { steps: 3, ms: 1 } });
    await page.context().close();
  });

  test("is empty where no earlier input is known", async () => {
    const page = await openPage(`${server.address}/ui/start/slow?from=nobody`);
    const steps = page.getByRole("textbox", { name: "steps", exact: true });
    await steps.waitFor();
    expect([await steps.inputValue(), await page.getByText("Filled in").count(), page.errors]).toEqual(["", 0, []]);
    await page.context().close();
  });

  test("starts a thread that has no run", async () => {
    await server.send("POST", "/threads", { thread_id: "made/1", metadata: { graph_id: "slow" } });
    const page = await openPage(`${server.address}/ui/threads/made%2F1`);
    await page.getByText("This thread has no run.").waitFor();
    await picture(page, "run-none");
    await expectSound(page);
    await page.getByRole("main").getByRole("link", { name: "Start", exact: true }).click();
    await page.waitForURL("**/ui/start/slow?thread=made%2F1");
    await page.getByText("The run starts on the thread made/1.").waitFor();
    await page.getByRole("textbox", { name: "steps", exact: true }).fill("2");
    expect(await page.getByRole("textbox", { name: "Thread name" }).count()).toBe(0);
    await picture(page, "start-on-thread");
    await expectSound(page);
    await page.getByRole("button", { name: "Start", exact: true }).click();
    await page.waitForURL("**/ui/threads/made%2F1");
    await page.getByRole("link", { name: "Start again", exact: true }).waitFor();
    await expect.poll(() => page.getByRole("main").getByRole("link", { name: "Start", exact: true }).count()).toBe(0);
    await expect.poll(() => server.send("GET", "/threads/made%2F1")).toMatchObject({ status: "idle", values: { steps: 2 } });
    await page.context().close();
  });

  test("starts a thread that has no graph with the one that is chosen", async () => {
    await server.send("POST", "/threads", { thread_id: "bare" });
    const page = await openPage(`${server.address}/ui/threads/bare`);
    await page.getByRole("main").getByRole("link", { name: "Start", exact: true }).click();
    await page.waitForURL("**/ui/start?thread=bare");
    await page.getByText("The run starts on the thread bare. Choose its graph.").waitFor();
    await page.getByRole("link", { name: "approval" }).click();
    await page.waitForURL("**/ui/start/approval?thread=bare");
    await page.getByRole("textbox", { name: "request", exact: true }).fill("ship it");
    await page.getByRole("button", { name: "Start", exact: true }).click();
    await page.waitForURL("**/ui/threads/bare");
    await expect.poll(() => server.send("GET", "/threads/bare")).toMatchObject({ status: "interrupted", values: { request: "ship it" } });
    await page.context().close();
  });

  test("starts a thread that has a state alone", async () => {
    await server.send("POST", "/threads", { thread_id: "written", metadata: { graph_id: "counter" }, supersteps: [{ updates: [{ values: { n: 1 }, as_node: "__start__" }] }] });
    const page = await openPage(`${server.address}/ui/threads/written`);
    await page.getByRole("main").getByRole("link", { name: "Start", exact: true }).click();
    await page.waitForURL("**/ui/start/counter?thread=written");
    await page.context().close();
  });

  test("makes, pauses and deletes a schedule", async () => {
    const page = await openPage(`${server.address}/ui/start/parallel`);
    await page.getByRole("button", { name: "Run by a schedule" }).click();
    const when = page.getByRole("textbox", { name: "When" });
    await when.fill("0 9 *");
    await page.getByRole("button", { name: "Create schedule" }).click();
    await page.getByText("the schedule `0 9 *` cannot be read").waitFor();
    expect(await when.getAttribute("aria-invalid")).toBe("true");
    await when.fill("30 6 * * *");
    await page.getByText("This is every day at 06:30.").waitFor();
    await page.getByRole("button", { name: "Create schedule" }).click();
    await page.getByText(/It is created\. Next run: .*06:30/).waitFor();
    const item = page.getByRole("listitem", { name: "parallel, 30 6 * * *" });
    await item.getByText(/Next run/).waitFor();
    await picture(page, "start-scheduled");
    await item.getByRole("button", { name: "Pause" }).click();
    await item.getByText("paused").waitFor();
    await item.getByRole("button", { name: "Resume" }).click();
    await item.getByText(/Next run/).waitFor();
    await item.getByRole("button", { name: "Delete" }).click();
    await page.getByRole("alertdialog").getByRole("button", { name: "Confirm" }).click();
    await item.waitFor({ state: "detached" });
    expect(await server.send("POST", "/runs/crons/count", { assistant_id: "parallel" })).toBe(0);
    await page.context().close();
  });

  test("says so where there is no such graph", async () => {
    const page = await openPage(`${server.address}/ui/start/none`);
    await page.getByRole("heading", { name: "There is no graph named none" }).waitFor();
    await page.context().close();
  });
});
