// The inbox as cards: groups, pages, and questions that left while somebody typed.

import { describe, expect, test } from "vitest";

import type { InboxItem } from "../../src/api/types";
import { groupItems, itemKey, joinPages, termsTexts, withKept } from "../../src/fold/inbox";
import { ask } from "./questions";

const item = (thread: string, minute: number, id = "1"): InboxItem => ({ kind: "question", thread, graph: "tasks", since: `2026-11-27T10:${minute}:00Z`, step: 1, question: { ...ask(null), id } });

describe("the inbox", () => {
  test("groups by thread, the oldest first", () => {
    const groups = groupItems([item("b", 10), item("a", 11, "1"), item("b", 12, "2")]);
    expect(groups.map(({ thread, items }) => [thread, items.length])).toEqual([["b", 2], ["a", 1]]);
  });

  test("shows what is on two pages once", () => {
    expect(joinPages([[item("a", 10), item("b", 11)], [item("b", 11), item("c", 12)]]).map(({ thread }) => thread)).toEqual(["a", "b", "c"]);
  });

  test("keeps a question into which somebody types, and says that it has left", () => {
    const typed = item("a", 10);
    const page = { items: [item("b", 11)], next: null, waiting: 1 };
    const { items, left } = withKept(page, [typed, item("b", 11)]);
    expect(items.map(({ thread }) => thread)).toEqual(["a", "b"]);
    expect([...left]).toEqual([itemKey(typed)]);
  });

  test("does not say so of one that may be on a later page", () => {
    const page = { items: [item("b", 11)], next: "cursor", waiting: 2 };
    expect([...withKept(page, [item("z", 50)]).left]).toEqual([]);
    expect([...withKept(page, [item("a", 10)]).left]).toHaveLength(1);
  });

  test("says who may answer, and how many have", () => {
    const { superstep } = ask(null);
    const vote = { by: "ada", at: "2026-11-27T10:00:00Z", note: null, value: true };
    expect(termsTexts({ ...superstep, approvals: 2, approvers: ["ada", "ben"], votes: [vote], expires: "2026-11-28T10:00:00Z", default: false })).toEqual({ approvers: "ada, ben", votes: "1 of 2", after: "the answer is false" });
    expect(termsTexts(superstep)).toEqual({ approvers: null, votes: null, after: null });
  });
});
