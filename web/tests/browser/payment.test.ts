// A question that takes two of three people, until a time: its terms, its votes, its expiry, and a form that is half typed.

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { chromiumPath, closeBrowser, expectSound, openPage, picture } from "./browser";
import { PAGE_PROGRAM, TestServer } from "./server";

describe.skipIf(chromiumPath() === undefined)("a payment", () => {
  const server = new TestServer({ program: PAGE_PROGRAM });
  beforeAll(() => server.start());
  afterAll(async () => {
    await closeBrowser();
    await server.close();
  });

  const ask = (thread: string, input: object): Promise<unknown> => server.run(thread, "payment", { title: "the tea", cents: 500, ...input });
  const verdict = async (thread: string): Promise<unknown> => (await server.send<{ values: { verdict: unknown } }>("GET", `/threads/${thread}`)).values.verdict;

  test("is approved by two of those who may answer, each once", async () => {
    await ask("tea", {});
    const page = await openPage(`${server.address}/ui/`, { width: 360 });
    const card = page.getByRole("article", { name: "tea" });
    await card.getByText("ada, ben, cy").waitFor();
    await card.getByText('then the answer is "reject"').waitFor();
    await card.getByText("0 of 2").waitFor();
    await card.getByRole("textbox", { name: "Your name" }).fill("ada");
    await card.getByRole("textbox", { name: "Note" }).fill("with sugar");
    await card.getByRole("button", { name: "Approve" }).click();
    await card.getByText("1 of 2").waitFor();
    await card.getByText("ada: approve, with sugar").waitFor();
    await card.getByRole("status").getByText("Your answer is stored.").waitFor();
    await picture(page, "inbox-votes");
    await expectSound(page);
    await card.getByRole("button", { name: "Approve" }).click();
    await card.getByRole("alert").getByText("`ada` has answered already").waitFor();
    await card.getByRole("textbox", { name: "Your name" }).fill("dan");
    await card.getByRole("button", { name: "Approve" }).click();
    await card.getByRole("alert").getByText("`dan` is not among ada, ben, cy").waitFor();
    await card.getByRole("textbox", { name: "Your name" }).fill("ben");
    await card.getByRole("button", { name: "Approve" }).click();
    await card.waitFor({ state: "detached" });
    await expect.poll(() => verdict("tea")).toBe("approve");
    await page.context().close();
  });

  test("that nobody answers in time has its default answer, and leaves", async () => {
    const page = await openPage(`${server.address}/ui/`);
    await page.getByText("Nothing waits for you").waitFor();
    await ask("late", { seconds: 6 });
    const card = page.getByRole("article", { name: "late" });
    await card.getByText(/^in .*, then the answer is "reject"$/).waitFor();
    await card.waitFor({ state: "detached" });
    await expect.poll(() => verdict("late")).toBe("reject");
    expect(page.errors).toEqual([]);
    await page.context().close();
  });

  test("is not answered with a field that is no JSON yet, nor without it", async () => {
    await ask("part", {});
    const page = await openPage(`${server.address}/ui/`);
    const card = page.getByRole("article", { name: "part" });
    await card.getByRole("button", { name: "More" }).click();
    await card.getByRole("button", { name: "Revise" }).click();
    await card.getByRole("textbox", { name: "Your name" }).fill("ada");
    await card.getByRole("textbox", { name: "Cents" }).fill("300");
    const tags = card.getByRole("textbox", { name: "Tags" });
    await tags.fill('["half"');
    await card.getByRole("button", { name: "Revise" }).click();
    await card.getByText("This is no JSON").waitFor();
    expect(await tags.evaluate((field) => field === document.activeElement)).toBe(true);
    await tags.fill('["half"]');
    const sent = page.waitForRequest(/\/threads\/part\/runs$/);
    await card.getByRole("button", { name: "Revise" }).click();
    const { command } = (await sent).postDataJSON() as { command: { resume: Record<string, unknown> } };
    expect(Object.values(command.resume)).toEqual([{ revise: { cents: 300, tags: ["half"] } }]);
    await card.getByText("1 of 2").waitFor();
    await page.context().close();
  });
});
