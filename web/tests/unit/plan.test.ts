// Plans as overviews: what their markdown says, and what the question about them says.

import { describe, expect, test } from "vitest";

import { isPlanQuestion, planOf, planOfQuestion } from "../../src/fold/plan";
import { APPROVE_PLAN, HALTED, PLAN } from "./questions";

function fields(section: string): unknown {
  const [task] = planOf(`### Task 1: One\n\n${section}\n`).tasks;
  return task === undefined ? null : [task.files, task.needs, task.commands];
}

describe("a plan", () => {
  test("has its tasks with files, dependencies and commands", () => {
    const { title, goal, tasks } = planOf(PLAN);
    expect([title, goal]).toEqual(["Tides", "A script that prints the tides of a day."]);
    expect(tasks).toEqual([
      { id: "1", title: "Print the table", files: ["tides.sh", "tides.txt"], needs: [], commands: ['sh tides.sh | grep -q "high 06:12"'] },
      { id: "2a", title: "Choose a day", files: [], needs: ["1"], commands: ['test "$(sh tides.sh | wc -l)" -eq 4', 'test "$(sh tides.sh 2026-03-02 | wc -l)" -eq 2'] },
    ]);
  });

  test.each<[string, string, unknown]>([
    ["labels below each other", "**Files:** a.rs, b.rs\n**Depends on:** 2, 3a\n**Verify:** `cargo test`", [["a.rs", "b.rs"], ["2", "3a"], ["cargo test"]]],
    ["lists", "**Files:**\n\n- `a.rs`\n- `b.rs`\n\n**Verify:**\n\n- `make`\n- `make check`", [["a.rs", "b.rs"], [], ["make", "make check"]]],
    ["headings", "#### Verification\n\n```sh\n# a remark\nmake \\\n  all\n```\n", [[], [], ["make all"]]],
    ["output below commands", "**Verify:**\n\n```\n$ make\ndone\n```", [[], [], ["make"]]],
    ["no dependency", "**Depends on:** none", [[], [], []]],
    ["a list of labels", "- **Files:** `a.rs`\n- **Verify:** `make`", [["a.rs"], [], ["make"]]],
    ["code without a label", "```sh\nrm -rf /\n```", [[], [], []]],
    ["prose about files", "Files are read. Verify that `make` works.", [[], [], []]],
  ])("reads %s", (_, section, expected) => {
    expect(fields(section)).toEqual(expected);
  });

  test("a text without tasks has none", () => {
    expect(planOf("# A letter\n\nDear Ada").tasks).toEqual([]);
    expect(planOf("").tasks).toEqual([]);
  });

  test("in a question has the commands of the question, and the files of its markdown", () => {
    const asked = { ...(APPROVE_PLAN as object), tasks: [{ id: "1", title: "Print the table", verify: ["make"] }] };
    const plan = planOfQuestion(asked, PLAN);
    expect(plan.tasks).toEqual([{ id: "1", title: "Print the table", commands: ["make"], files: ["tides.sh", "tides.txt"], needs: [] }]);
    expect([plan.warnings.length, plan.phases, plan.isAsked]).toEqual([1, [["1"], ["2a"]], true]);
    expect(planOfQuestion(APPROVE_PLAN, null).tasks.map(({ id, files }) => [id, files])).toEqual([["1", []], ["2a", []]]);
  });

  test("questions about plans are known by what is in them", () => {
    expect([APPROVE_PLAN, HALTED, {}, null, { tasks: ["a"], warnings: [] }, { tasks: [] }].map(isPlanQuestion)).toEqual([true, false, false, false, false, false]);
  });
});
