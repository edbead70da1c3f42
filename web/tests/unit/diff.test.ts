// Diffs: those of git with everything that it writes above hunks, those of other programs, and those that are cut or damaged.

import { describe, expect, test } from "vitest";

import { looksLikeDiff, markOf, parseDiff } from "../../src/fold/diff";
import { unquote } from "../../src/fold/diff_header";
import { rowsOf, wordParts, type Row } from "../../src/fold/diff_rows";

const HUNK = "@@ -1,3 +1,3 @@ fn main()\n same\n-old\n+new\n last\n";

function heads(diff: string): unknown[] {
  return parseDiff(diff).map(({ name, oldName, change, isBinary, modes, added, removed }) => [name, oldName, change, isBinary, modes, added, removed]);
}

describe("the files of a diff", () => {
  test.each<[string, string, unknown[]]>([
    ["changed", `diff --git a/src/a.rs b/src/a.rs\nindex 1..2 100644\n--- a/src/a.rs\n+++ b/src/a.rs\n${HUNK}`, [["src/a.rs", null, "changed", false, null, 1, 1]]],
    ["new", "diff --git a/n b/n\nnew file mode 100644\nindex 0..1\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+one\n", [["n", null, "new", false, null, 1, 0]]],
    ["new and empty", "diff --git a/n b/n\nnew file mode 100644\nindex 0..0\n", [["n", null, "new", false, null, 0, 0]]],
    ["deleted", "diff --git a/d b/d\ndeleted file mode 100644\n--- a/d\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n\\ No newline at end of file\n", [["d", null, "deleted", false, null, 0, 1]]],
    ["renamed", "diff --git a/x y b/z b/w\nsimilarity index 100%\nrename from x y\nrename to z b/w\n", [["z b/w", "x y", "renamed", false, null, 0, 0]]],
    ["renamed and changed", `diff --git a/x b/y\nsimilarity index 90%\nrename from x\nrename to y\n--- a/x\n+++ b/y\n${HUNK}`, [["y", "x", "renamed", false, null, 1, 1]]],
    ["copied", "diff --git a/x b/y\nsimilarity index 100%\ncopy from x\ncopy to y\n", [["y", "x", "copied", false, null, 0, 0]]],
    ["of another mode", "diff --git a/run.sh b/run.sh\nold mode 100644\nnew mode 100755\n", [["run.sh", null, "mode", false, "100644 → 100755", 0, 0]]],
    ["of another mode and changed", `diff --git a/r b/r\nold mode 100644\nnew mode 100755\nindex 1..2\n--- a/r\n+++ b/r\n${HUNK}`, [["r", null, "changed", false, "100644 → 100755", 1, 1]]],
    ["binary", "diff --git a/l.png b/l.png\nindex 1..2 100644\nBinary files a/l.png and b/l.png differ\n", [["l.png", null, "changed", true, null, 0, 0]]],
    ["binary with its bytes", "diff --git a/l.png b/l.png\nindex 1..2\nGIT binary patch\nliteral 3\nKcmZ\n\ndiff --git a/o b/o\nnew file mode 100644\n", [["l.png", null, "changed", true, null, 0, 0], ["o", null, "new", false, null, 0, 0]]],
    ["with letters that git writes as numbers", `diff --git "a/\\303\\274ber.md" "b/\\303\\274ber.md"\n--- "a/\\303\\274ber.md"\n+++ "b/\\303\\274ber.md"\n${HUNK}`, [["über.md", null, "changed", false, null, 1, 1]]],
    ["without git", `--- old.txt\t2026-01-01\n+++ new.txt\t2026-01-02\n${HUNK}`, [["new.txt", null, "changed", false, null, 1, 1]]],
    ["with words for names", `--- the plan that holds\n+++ the file\n${HUNK}`, [["the file", null, "changed", false, null, 1, 1]]],
    ["without names", HUNK, [["(no name)", null, "changed", false, null, 1, 1]]],
    ["below a message", `From 1\nSubject: a thing\n\n--- \n x | 1 +\n\ndiff --git a/x b/x\n--- a/x\n+++ b/x\n${HUNK}-- \n2.39\n`, [["x", null, "changed", false, null, 1, 1]]],
    ["two of them", `diff --git a/x b/x\n--- a/x\n+++ b/x\n${HUNK}diff --git a/y b/y\n--- a/y\n+++ b/y\n${HUNK}`, [["x", null, "changed", false, null, 1, 1], ["y", null, "changed", false, null, 1, 1]]],
    ["with lines that look like names", "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n--- old\n+++ new\n same\n", [["x", null, "changed", false, null, 1, 1]]],
    ["that ends in the middle", "--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@\n same\n-old\n+ne", [["x", null, "changed", false, null, 1, 1]]],
    ["no diff", "a text\nof two lines", []],
    ["nothing", "", []],
  ])("%s", (_, diff, expected) => {
    expect(heads(diff)).toEqual(expected);
  });

  test("lines have the numbers of both files", () => {
    const [file] = parseDiff(`--- a/x\n+++ b/x\n@@ -10,3 +20,4 @@\n one\n-two\n+2\n+zwei\n three\n`);
    expect(file?.hunks[0]?.lines.map(({ kind, text, old, new: now }) => [kind, text, old, now])).toEqual([
      ["same", "one", 10, 20],
      ["removed", "two", 11, null],
      ["added", "2", null, 21],
      ["added", "zwei", null, 22],
      ["same", "three", 12, 23],
    ]);
  });

  test("an empty line whose blank was lost is a line", () => {
    const [file] = parseDiff("--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n one\n\n-two\n+2\n");
    expect(file?.hunks[0]?.lines.map(({ kind }) => kind)).toEqual(["same", "same", "removed", "added"]);
  });

  test("is known by its marks", () => {
    expect([HUNK, "--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y", "diff --git a/x b/x\nnew file mode 100644", "- a list\n+ of things", "--- \nfront matter"].map(looksLikeDiff)).toEqual([false, true, true, false, false]);
  });

  test("a file is known again by what was changed in it", () => {
    const of = (line: string): string => markOf(parseDiff(`--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+${line}\n`)[0]!);
    expect(of("new")).toBe(of("new"));
    expect(of("new")).not.toBe(of("newer"));
  });

  test("names in quotes", () => {
    expect([String.raw`"a\tb\"c\\"`, '"\\360\\237\\214\\212"', "plain", '"ü"'].map(unquote)).toEqual(['a\tb"c\\', "🌊", "plain", "ü"]);
  });

  test("fifty thousand lines are read at once", () => {
    const lines = Array.from({ length: 50_000 }, (_, at) => (at % 5 === 0 ? `+line ${at}` : ` line ${at}`)).join("\n");
    const [file] = parseDiff(`--- a/x\n+++ b/x\n@@ -1,40000 +1,50000 @@\n${lines}\n`);
    expect([file?.added, file?.hunks[0]?.lines.length, file === undefined ? 0 : rowsOf(file, "two").length]).toEqual([10_000, 50_000, 50_000]);
  });
});

describe("the rows of a file", () => {
  const [file] = parseDiff("--- a/x\n+++ b/x\n@@ -1,4 +1,3 @@ fn main()\n same\n-one\n-two\n+eins\n last\n@@ -9 +8 @@\n-nine\n+neun\n\\ No newline at end of file\n");
  const sides = (row: Row): unknown => (row.kind === "hunk" ? row.text : row.kind === "pair" ? [row.left?.text ?? null, row.right?.text ?? null] : [row.line.text, row.mate?.text ?? null]);

  test("side by side", () => {
    expect(file && rowsOf(file, "two").map(sides)).toEqual(["fn main()", ["same", "same"], ["one", "eins"], ["two", null], ["last", "last"], "", ["nine", "neun"], "No newline at end of file"]);
  });

  test("in one column", () => {
    expect(file && rowsOf(file, "one").map(sides)).toEqual(["fn main()", ["same", null], ["one", "eins"], ["two", null], ["eins", "one"], ["last", null], "", ["nine", "neun"], ["neun", "nine"], "No newline at end of file"]);
  });

  test("words that differ are marked where the lines are much the same", () => {
    expect(wordParts("let a = 1;", "let b = 1;")?.now).toEqual([
      { text: "let ", isChanged: false },
      { text: "b", isChanged: true },
      { text: " = 1;", isChanged: false },
    ]);
    expect(wordParts("one thing", "something else altogether")).toBeNull();
    expect(wordParts("x".repeat(500), "x".repeat(500))).toBeNull();
  });
});
