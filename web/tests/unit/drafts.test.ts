// What was typed into an answer, as the browser keeps it.

import { describe, expect, test } from "vitest";

import type { Json, Schema } from "../../src/api/types";
import { actionsOf } from "../../src/fold/actions";
import { keepable, keptAt, LONGEST, outdated, readDraft, writeDraft, type AnswerDraft } from "../../src/fold/drafts";
import * as q from "./questions";

const DRAFT: AnswerDraft = {
  name: "Revise",
  value: { feedback: "Shorter." },
  note: "Nearly.",
  comments: [{ file: "a.rs", line: 3, side: "old", text: "Why?" }],
  plan: "# Plan\n",
  writing: { "a.rs\nnew:4": "half a" },
};

describe("a draft", () => {
  test("is read as it was written", () => {
    const words = writeDraft(DRAFT, "mark", 7) ?? "";
    expect(readDraft(words, "mark")).toEqual(DRAFT);
    expect(keptAt(words)).toBe(7);
  });

  test("is not that of another question with the same id", () => {
    expect(readDraft(writeDraft(DRAFT, "mark", 7) ?? "", "other")).toBeNull();
  });

  test("is not kept if it is too long", () => {
    expect(writeDraft({ ...DRAFT, note: "x".repeat(LONGEST) }, "mark", 7)).toBeNull();
  });

  test.each([["no JSON"], ["null"], ['{"mark":"mark","comments":[{"file":1}],"writing":{"a":2},"note":3}']])("that is damaged is read as far as it can be: %s", (words) => {
    const read = readDraft(words, "mark");
    expect(read === null || (read.comments.length === 0 && read.note === "" && Object.keys(read.writing).length === 0)).toBe(true);
  });
});

test("the oldest drafts go when there are too many, too long or too old ones", () => {
  const day = 86_400_000;
  const now = 100 * day;
  expect(outdated([{ name: "old", at: now - 31 * day, size: 10 }, { name: "new", at: now, size: 10 }], now)).toEqual(["old"]);
  const large = Array.from({ length: 5 }, (_, at) => ({ name: `n${at}`, at: now - at, size: 450_000 }));
  expect(outdated(large, now)).toEqual(["n4"]);
  const many = Array.from({ length: 101 }, (_, at) => ({ name: `n${at}`, at: now - at, size: 1 }));
  expect(outdated(many, now)).toEqual(["n100"]);
});

describe("secret fields are not kept", () => {
  const fields = { user: { type: "string" }, key: { type: "string", writeOnly: true }, code: { type: "string", format: "password" }, api_token: { type: "string" }, tokens: { type: "integer" } };
  const login: Schema = { type: "object", properties: { ...fields, inner: { type: "object", properties: fields }, list: { type: "array", items: { type: "object", properties: fields } } } };
  const open = { user: "ada", tokens: 9 };
  const typed: Json = { ...open, key: "k", code: "c", api_token: "t" };

  test("also not in parts of the answer", () => {
    const [action] = actionsOf(q.ask(login));
    expect(keepable(action ?? null, { ...typed, inner: typed, list: [typed] })).toEqual({ ...open, inner: open, list: [open] });
  });

  test("nor if the answer is one", () => {
    const [action] = actionsOf(q.ask({ type: "string", writeOnly: true }));
    expect(keepable(action ?? null, "hidden")).toBeUndefined();
  });
});
