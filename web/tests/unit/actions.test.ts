// Answers as buttons: which there are, which is the main one, and what each sends.

import { describe, expect, test } from "vitest";

import type { Ask, Schema } from "../../src/api/types";
import { actionsOf, answerText } from "../../src/fold/actions";
import { draftAnswer, draftLabel } from "../../src/fold/draft_field";
import { giveAnswer, isAnsweredByNote } from "../../src/fold/given";
import * as q from "./questions";

const enumOf = (...values: string[]) => ({ type: "string", enum: values });

const CASES: { name: string; asked: Ask; names: string[] }[] = [
  { name: "a bool", asked: q.ask({ type: "boolean" }), names: ["Approve", "Reject"] },
  { name: "a bool or nothing", asked: q.ask({ type: ["boolean", "null"] }), names: ["Approve", "None", "Reject"] },
  { name: "a text", asked: q.ask({ type: "string" }), names: ["Answer"] },
  { name: "a number", asked: q.ask({ type: "integer", minimum: 0 }), names: ["Answer"] },
  { name: "an object", asked: q.ask({ type: "object", properties: { cents: { type: "integer" } }, required: ["cents"] }), names: ["Answer"] },
  { name: "a choice of other words", asked: q.ask(enumOf("red", "green")), names: ["Answer"] },
  { name: "a choice of known words", asked: q.ask(enumOf("reject", "revise", "approve")), names: ["Approve", "Revise", "Reject"] },
  { name: "no schema and no words", asked: q.ask(null), names: ["Answer"] },
  { name: "no schema, but the words of the command line", asked: q.ask(null, { replies: q.AFTER_HALT_REPLIES }), names: ["Approve", "Revise", "Answer", "Reject"] },
  { name: "no schema, and a reply in words", asked: q.ask(null, { replies: { revise: { reply: { text: "{feedback}" } } } }), names: ["Answer"] },
  { name: "votes of several people", asked: { ...q.ask({ type: "boolean" }), superstep: { ...q.ask(null).superstep, approvals: 2, approvers: ["ada", "ben"] } }, names: ["Approve", "Reject"] },
  { name: "a decision on a plan", asked: q.ask(q.DECISION, { draft: q.PLAN, replies: q.DECISION_REPLIES }), names: ["Approve", "Choose tasks", "Revise", "Edit plan", "Reject"] },
  { name: "a halted task", asked: q.ask(q.AFTER_HALT, { draft: q.PLAN, replies: q.AFTER_HALT_REPLIES }), names: ["Retry", "Approve", "Skip", "Edit plan", "Abort"] },
  { name: "a plan that was changed", asked: q.ask(q.PLAN_CHOICE, { replies: { approve: "adopt", reject: "keep" } }), names: ["Approve", "Diff", "Reject"] },
  { name: "a branch that was moved", asked: q.ask(q.AFTER_MOVE, { replies: { approve: "keep", reject: "abort" } }), names: ["Approve", "Abort"] },
  { name: "a question of an agent", asked: q.ask(q.AGENT_REPLY, { replies: { revise: { reply: { text: "{feedback}" } } } }), names: ["Answer"] },
  { name: "a missing review", asked: q.ask(q.AFTER_MISSING_REVIEW, { replies: { approve: "accept", reject: "abort" } }), names: ["Retry", "Approve", "Abort"] },
  { name: "a refused session", asked: q.ask(q.AFTER_REFUSAL, { replies: { approve: "fresh", reject: "abort" } }), names: ["Approve", "Model", "Retry", "Skip", "Abort"] },
  { name: "a used-up budget", asked: q.ask(q.AFTER_BUDGET, { replies: { reject: "abort" } }), names: ["Raise", "Override", "Abort"] },
  { name: "a task that was given up", asked: q.ask(q.AFTER_GIVING_UP, { replies: q.AFTER_GIVING_UP_REPLIES }), names: ["Retry", "Split", "Override", "Approve", "Abort"] },
  {
    name: "variants by a tag",
    asked: q.ask({ oneOf: [{ type: "object", properties: { kind: { const: "approve", type: "string" } }, required: ["kind"] }, { type: "object", properties: { kind: { const: "reject", type: "string" }, why: { type: "string" } }, required: ["kind", "why"] }] }),
    names: ["Approve", "Reject"],
  },
  {
    name: "own words with replies",
    asked: q.ask({ oneOf: [{ type: "string", const: "ship" }, { type: "object", properties: { drop: { type: "object", properties: { why: { type: "string" } }, required: ["why"] } }, required: ["drop"] }] }, { replies: { approve: "ship", reject: { drop: { why: "" } } } }),
    names: ["Approve", "Reject"],
  },
  { name: "a truth value or a text", asked: q.ask({ anyOf: [{ type: "boolean" }, { type: "object", properties: { revise: { type: "string" } }, required: ["revise"] }] }), names: ["Approve", "Revise", "Reject"] },
];

describe("the buttons of a question", () => {
  test.each(CASES)("$name", ({ asked, names }) => {
    expect(actionsOf(asked).map(({ name }) => name)).toEqual(names);
  });

  test("only what ends a run is asked once more, and only a plan is edited in place", () => {
    for (const { asked } of CASES) {
      for (const action of actionsOf(asked)) {
        expect(action.isFinal).toBe(action.name === "Reject" || action.name === "Abort");
        expect(action.isDraft).toBe(action.name === "Edit plan");
      }
    }
  });
});

const RETURNS = q.ask({
  oneOf: [
    { type: "object", properties: { refund: { type: "object", properties: { cents: { type: "integer", minimum: 1 } }, required: ["cents"] } }, required: ["refund"] },
    { type: "object", properties: { exchange: { type: "string" } }, required: ["exchange"] },
    { type: "string", const: "decline" },
  ],
});

function sent(asked: Ask, name: string, typed: unknown = undefined, note = ""): unknown {
  const action = actionsOf(asked).find((one) => one.name === name);
  if (action === undefined) throw new Error(`there is no ${name}`);
  const { answer, problems } = giveAnswer(action, typed as never, note, []);
  return problems.length > 0 ? problems.map(({ path, text }) => `${path.join(".")} ${text}`) : answer;
}

const SHIP = q.ask(
  { oneOf: [{ type: "string", const: "ship" }, { type: "object", properties: { drop: { type: "object", properties: { why: { type: "string" } }, required: ["why"] } }, required: ["drop"] }] },
  { replies: { approve: "ship", reject: { drop: { why: "" } } } },
);

test("the tasks of a plan are choices", () => {
  const asked = q.ask(q.DECISION, { value: q.APPROVE_PLAN, draft: q.PLAN, replies: q.DECISION_REPLIES });
  const choose = actionsOf(asked).find(({ name }) => name === "Choose tasks");
  expect(choose?.form?.["properties"]).toMatchObject({ tasks: { uniqueItems: true, items: { oneOf: (q.APPROVE_PLAN as unknown as { tasks: { id: string; title: string }[] }).tasks.map(({ id, title }) => ({ const: id, description: title })) } } });
});

describe("what a button sends", () => {
  const plan = q.ask(q.DECISION, { draft: q.PLAN, replies: q.DECISION_REPLIES });
  const halted = q.ask(q.AFTER_HALT, { draft: q.PLAN, replies: q.AFTER_HALT_REPLIES });
  const gaveUp = q.ask(q.AFTER_GIVING_UP, { replies: q.AFTER_GIVING_UP_REPLIES });
  const words = q.ask(null, { replies: q.AFTER_GIVING_UP_REPLIES });

  test.each<[string, Ask, string, unknown, string, unknown]>([
    ["yes", q.ask({ type: "boolean" }), "Approve", undefined, "", true],
    ["no", q.ask({ type: "boolean" }), "Reject", undefined, "", false],
    ["a text as it is", q.ask({ type: "string" }), "Answer", "Tea", "", "Tea"],
    ["a text that must not be missing", q.ask({ type: "string", minLength: 1 }), "Answer", "", "", [" must not be empty"]],
    ["an approval", plan, "Approve", undefined, "well done", "approve"],
    ["some tasks", plan, "Choose tasks", { tasks: ["1"] }, "", { approve: { tasks: ["1"] } }],
    ["a rejection without a reason", plan, "Reject", undefined, "", { reject: {} }],
    ["a rejection for the reason of the note", plan, "Reject", undefined, "not now", { reject: { feedback: "not now" } }],
    ["the note as what is to change", plan, "Revise", undefined, "smaller tasks", { revise: { feedback: "smaller tasks" } }],
    ["what was typed before the note", plan, "Revise", { feedback: "smaller" }, "for the record", { revise: { feedback: "smaller" } }],
    ["nothing without what is to change", plan, "Revise", {}, "", ["feedback is missing"]],
    ["the defaults of a retry", halted, "Retry", { attempts: 1 }, "", { retry: { attempts: 1 } }],
    ["the note to the agent", halted, "Retry", { attempts: 2 }, "Mind the folder.", { retry: { attempts: 2, note: "Mind the folder." } }],
    ["the answer that approving stands for", halted, "Approve", undefined, "", "accept"],
    ["an approval with its reason", gaveUp, "Approve", undefined, "It is fine.", { override: { decision: "DONE", why: "It is fine." } }],
    ["no place for a reason as if it were one", words, "Approve", {}, "", ["feedback is missing"]],
    ["a revision in the words of the command line", words, "Revise", { feedback: "again" }, "", { retry: { attempts: 1, note: "again" } }],
    ["an answer as JSON", words, "Answer", "split", "", "split"],
    ["new limits", q.ask(q.AFTER_BUDGET), "Raise", { cost: 30 }, "", { raise: { cost: 30 } }],
    ["a reply to an agent", q.ask(q.AGENT_REPLY), "Answer", { text: "The tidal one." }, "", { reply: { text: "The tidal one." } }],
    ["a reason that may be empty", SHIP, "Reject", undefined, "", { drop: { why: "" } }],
    ["a reason that may be empty, and is not", SHIP, "Reject", undefined, "late", { drop: { why: "late" } }],
    ["one of other kinds", RETURNS, "Answer", { variant: "Refund", value: { cents: 5 } }, "", { refund: { cents: 5 } }],
    ["one of other kinds without fields", RETURNS, "Answer", { variant: "Decline" }, "", "decline"],
    ["one of other kinds that is a text", RETURNS, "Answer", { variant: "Exchange", value: "A-1" }, "", { exchange: "A-1" }],
    ["none of other kinds", RETURNS, "Answer", undefined, "", [" must be one of the choices"]],
    ["one of other kinds with a fault", RETURNS, "Answer", { variant: "Refund", value: { cents: 0 } }, "", ["value.cents must be at least 1"]],
    ["a model", q.ask(q.AFTER_REFUSAL), "Model", "large", "", { model: "large" }],
  ])("%s", (_, asked, name, typed, note, expected) => {
    expect(sent(asked, name, typed, note)).toEqual(expected);
  });

  test("an edited plan is the variant that takes it", () => {
    for (const asked of [plan, halted]) {
      const edit = actionsOf(asked).find(({ isDraft }) => isDraft);
      expect(edit !== undefined && draftAnswer(edit, "# New")).toEqual({ edit_plan: { markdown: "# New" } });
    }
  });

  test.each<[string, Schema, string]>([
    ["proposal", { type: "string", format: "plan" }, "Plan"],
    ["markdown", { type: "string" }, "Plan"],
    ["plan", { type: "string" }, "Plan"],
    ["letter_text", { type: "string" }, "Letter text"],
  ])("the box of an edited %s of %j is %s", (field, schema, label) => {
    const change: Schema = { type: "object", properties: { edit: { type: "object", properties: { [field]: schema }, required: [field] } }, required: ["edit"] };
    const draft = actionsOf(q.ask({ oneOf: [{ type: "string", const: "approve" }, change] }, { draft: "# Tides" })).find(({ isDraft }) => isDraft);
    expect(draft !== undefined && draftLabel(draft)).toBe(label);
  });

  test("comments on lines are in the note and in the feedback, and are enough for a revision", () => {
    const revise = actionsOf(plan).find(({ name }) => name === "Revise");
    if (revise === undefined) throw new Error("there is no Revise");
    const comments = [{ file: "src/a.rs", line: 3, side: "new" as const, text: "Why\nso?" }, { file: "src/a.rs", line: 9, side: "old" as const, text: "Keep it." }];
    const lines = "src/a.rs:3: Why so?\nsrc/a.rs:9: (removed line) Keep it.";
    expect(isAnsweredByNote(revise, "", comments)).toBe(true);
    expect(giveAnswer(revise, {}, "", comments)).toEqual({ answer: { revise: { feedback: lines } }, note: lines, problems: [] });
    expect(giveAnswer(revise, { feedback: "Smaller." }, "For ada.", comments)).toEqual({ answer: { revise: { feedback: `Smaller.\n${lines}` } }, note: `For ada.\n${lines}`, problems: [] });
  });

  test("votes are shown in words", () => {
    expect([true, "now", { retry: {} }, { a: 1, b: 2 }].map(answerText)).toEqual(["yes", "now", "retry", '{"a":1,"b":2}']);
  });
});
