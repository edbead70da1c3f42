// What a question shows: each part of its payload in the view that its schema or its form asks for.

import { describe, expect, test } from "vitest";

import type { Json, Schema } from "../../src/api/types";
import { evidenceOf, type Evidence } from "../../src/fold/evidence";
import { findingsOf, looksLikeFindings } from "../../src/fold/findings";
import { pieces, withoutTurns } from "../../src/fold/hidden";
import * as q from "./questions";

const kinds = (parts: Evidence[]): string[] => parts.map(({ name, kind }) => `${name} ${kind}`);
const of = (value: Json, schema: Schema | null = null): Evidence[] => evidenceOf(q.ask(null, { value, payload_schema: schema }));
const formats = (...names: string[]): Schema => ({ type: "object", properties: Object.fromEntries(names.map((name) => [name, { type: "string", format: name }])) });

describe("the parts of a payload", () => {
  test("by the format of their schema", () => {
    expect(kinds(of({ plan: "# Plan", diff: "no diff", markdown: "*text*", other: "x" }, formats("plan", "diff", "markdown")))).toEqual(["other fact", "plan plan", "diff diff", "markdown markdown"]);
    expect(kinds(of({ found: [{ issue: "bad" }] }, { type: "object", properties: { found: { type: "array", format: "findings" } } }))).toEqual(["found findings"]);
    expect(kinds(of("# Plan", { type: "string", format: "plan" }))).toEqual(["value plan"]);
  });

  describe("by the format of a schema below the first level", () => {
    const object = (properties: { [name: string]: Schema }): Schema => ({ type: "object", properties });
    const list = (items: Schema): Schema => ({ type: "array", items });
    const marked = (format: string): Schema => ({ type: "string", format });
    const shown = (value: Json, schema: Schema): string[] => of(value, schema).map((part) => `${part.name} ${part.kind} ${part.label}`);

    test.each<[string, Json, Schema, string[]]>([
      ["in an object", { review: { patch: "no diff", by: "Ada" } }, object({ review: object({ patch: marked("diff") }) }), ["review facts Review", "review/patch diff Review: patch"]],
      ["alone in an object", { review: { patch: "no diff" } }, object({ review: object({ patch: marked("diff") }) }), ["review/patch diff Review: patch"]],
      ["in a list, named by what is beside it", { files: [{ path: "a.rs", diff: "x" }, { path: "b.rs", diff: "y" }] }, object({ files: list(object({ diff: marked("diff") })) }), ["files/0/diff diff a.rs: diff", "files/1/diff diff b.rs: diff"]],
      ["in a list with more beside it", { files: [{ path: "a.rs", size: 1, diff: "x" }] }, object({ files: list(object({ diff: marked("diff") })) }), ["files table Files", "files/0/diff diff a.rs: diff"]],
      ["in a list that is the payload", [{ path: "a.rs", diff: "x" }], list(object({ diff: marked("diff") })), ["value/0/diff diff a.rs: diff"]],
      ["in a list without a name", { notes: [{ text: "*a*" }] }, object({ notes: list(object({ text: marked("markdown") })) }), ["notes/0/text markdown Notes 1: text"]],
      ["as the items of a list", { plans: ["# A", "# B"] }, object({ plans: list(marked("plan")) }), ["plans/0 plan Plans 1", "plans/1 plan Plans 2"]],
      ["of two levels down, but not three", { a: { b: { diff: "x", c: { diff: "y" } } } }, object({ a: object({ b: object({ diff: marked("diff"), c: object({ diff: marked("diff") }) }) }) }), ["a json A", "a/b/diff diff A, b: diff"]],
      ["behind a reference", { review: { patch: "x" } }, { ...object({ review: { $ref: "#/$defs/Review" } }), $defs: { Review: object({ patch: marked("diff") }) } }, ["review/patch diff Review: patch"]],
      ["of findings", { review: { remarks: [{ issue: "bad" }] } }, object({ review: object({ remarks: { type: "array", format: "findings" } }) }), ["review/remarks findings Review: remarks"]],
      ["but not in findings, which have their own view", { found: [{ issue: "*a*", severity: "minor" }] }, object({ found: list(object({ issue: marked("markdown") })) }), ["found findings Found"]],
      ["but not of another type", { review: { patch: 5 } }, object({ review: object({ patch: marked("diff") }) }), ["review facts Review"]],
      ["nor without a text", { review: { patch: "", by: "Ada" } }, object({ review: object({ patch: marked("diff") }) }), ["review facts Review"]],
    ])("%s", (_, value, schema, expected) => {
      expect(shown(value, schema)).toEqual(expected);
    });

    test("as many as can be read", () => {
      const parts = of({ files: Array.from({ length: 60 }, (_, at) => ({ path: `${at}.rs`, diff: "x" })) }, object({ files: list(object({ diff: marked("diff") })) }));
      expect(parts.map(({ kind }) => kind).filter((kind) => kind === "diff")).toHaveLength(50);
      expect(parts[0]).toMatchObject({ kind: "table", rows: { length: 10 } });
    });
  });

  test("by what they look like", () => {
    const diff = "diff --git a/x b/x\nnew file mode 100644\n";
    expect(kinds(of({ a: diff, b: "+3 -1 src/x.rs\n+1 -0 y (new)", c: "two\nlines", d: ["a", "b"], e: Array.from({ length: 9 }, (_, at) => `item ${at}`), f: { x: 1 }, g: 5, h: true, i: "", j: [], k: null, l: {} }))).toEqual([
      "d fact",
      "g fact",
      "h fact",
      "a diff",
      "b sizes",
      "c text",
      "e list",
      "f facts",
    ]);
  });

  test("objects of short values as facts and tables", () => {
    expect(of({ buyer: { name: "Ada", is_new: true }, items: [{ name: "tea", cents: 5 }, { name: "milk", from: null }], deep: { a: [1] } })).toEqual([
      { name: "buyer", label: "Buyer", kind: "facts", facts: [{ label: "Name", text: "Ada" }, { label: "Is new", text: "yes" }] },
      { name: "items", label: "Items", kind: "table", columns: ["Name", "Cents", "From"], rows: [["tea", "5", ""], ["milk", "", ""]] },
      { name: "deep", label: "Deep", kind: "json", value: { a: [1] } },
    ]);
  });

  test("what is asked comes first", () => {
    expect(kinds(of({ amount: 5, question: "May it be paid?" }))).toEqual(["question lead", "amount fact"]);
    expect(kinds(of({ amount: 5, question: "one\ntwo" }))).toEqual(["question text", "amount fact"]);
  });

  test("of a plan to approve", () => {
    const parts = evidenceOf(q.named("approval", q.ask(q.DECISION, { value: q.APPROVE_PLAN, draft: q.PLAN })));
    expect(kinds(parts)).toEqual(["path fact", "plan plan"]);
    const plan = parts[1];
    expect(plan?.kind === "plan" && [plan.isFolded, plan.plan.markdown === q.PLAN, plan.plan.warnings.length]).toEqual([false, true, 1]);
  });

  test("of a halted task", () => {
    const parts = evidenceOf(q.named("halted", q.ask(q.AFTER_HALT, { value: q.HALTED, draft: q.PLAN })));
    expect(kinds(parts)).toEqual(["task fact", "reason fact", "attempts fact", "cost fact", "salvage fact", "comments findings", "changes sizes", "plan plan"]);
    expect(parts.flatMap((part) => (part.kind === "fact" ? [part.text] : []))).toEqual(["1: Print the table", "it was not accepted after 1 attempt", "1", "$0.0060", "refs/superstep/tides/task-1/attempt-1"]);
  });

  test("of a task that was given up, and of a plan that was changed", () => {
    expect(kinds(evidenceOf(q.named("gave_up", q.ask(null, { value: q.GIVEN_UP }))))).toContain("findings findings");
    const changed = { path: "plan.md", diff: "--- the plan that holds\n+++ the file\n@@ -1 +1 @@\n-a\n+b\n", problem: null, verify: ["1: cargo test"] };
    expect(kinds(evidenceOf(q.named("plan_changed", q.ask(q.PLAN_CHOICE, { value: changed }))))).toEqual(["path fact", "diff diff", "verify commands"]);
  });

  test("a number of a program that is called cost is no amount of dollars", () => {
    expect(of({ cost: 12 })).toEqual([{ name: "cost", label: "Cost", kind: "fact", text: "12" }]);
  });
});

describe("findings", () => {
  test("of reviewers, of verifiers and as lines have one form, the grave ones first", () => {
    const output = { verifier: "build", severity: "error", findings: [{ type: "BUILD_FAIL", severity: "error", message: "mismatched types", evidence: { file: "src/a.rs", lines: "3-5", log: "error[E0308]" }, fingerprint: "0badcafe0badcafe0badcafe0badcafe" }] };
    const lines = ["[style] warning src/b.rs:7: a name of one letter (12345678)", "and 3 more"];
    const comment = { id: "c1", severity: "critical", file: "x.sh", line: 1, issue: "It deletes.", why: "There is no check.", fix: "Check." };
    const found = findingsOf([...lines, output, comment]);
    expect(found.map(({ grade, severity, place, source, text, mark }) => [grade, severity, place, source, text, mark])).toEqual([
      ["bad", "error", "src/a.rs:3-5", "build", "mismatched types", "0badcafe"],
      ["bad", "critical", "x.sh:1", null, "It deletes.", "c1"],
      ["warn", "warning", "src/b.rs:7", "style", "a name of one letter", "12345678"],
      ["info", null, null, null, "and 3 more", null],
    ]);
    const reviews = [{ approved: false, comments: [{ issue: "Slow.", severity: "major" }] }, { approved: true, comments: [] }];
    expect(looksLikeFindings(reviews)).toBe(true);
    expect(findingsOf(reviews).map(({ text }) => text)).toEqual(["Slow.", "approved"]);
    expect(found[0]?.excerpt).toBe("error[E0308]");
    expect([found[1]?.why, found[1]?.fix]).toEqual(["There is no check.", "Check."]);
  });

  test("are told from other lists", () => {
    expect([["[build] error: no"], ["[build] error: no", "and 2 more"], ["and 2 more"], ["a", "b"], [{ issue: "x", severity: "minor" }], [{ name: "x" }], []].map(looksLikeFindings)).toEqual([true, true, false, false, true, false, false]);
  });
});

describe("hidden characters", () => {
  test.each([
    ["plain", "plain"],
    ["a\u202Eb\u202C", "a<U+202E>b<U+202C>"],
    ["zero\u200Bwidth\uFEFF", "zero<U+200B>width<U+FEFF>"],
    ["rm\u0000 \u001b[2J", "rm<U+0000> <U+001B>[2J"],
    ["a\u{E0041}", "a<U+E0041>"],
    ["tab\tand\nline", "tab\tand\nline"],
    ["👩‍💻 and می‌خواهم", "👩‍💻 and می‌خواهم"],
    ["a\u200Db", "a<U+200D>b"],
  ])("%j", (text, shown) => {
    expect(pieces(text).map((piece) => (piece.isHidden ? `<${piece.text}>` : piece.text)).join("")).toBe(shown);
  });

  test("that turn a text around are named in prose too", () => {
    expect(withoutTurns("a\u202Eb\u200Dc")).toBe("a[U+202E]b\u200Dc");
  });
});
