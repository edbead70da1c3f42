// The work of agent workflows from states that were recorded from runs of the examples.

import { expect, test } from "vitest";

import type { Brief, CheckpointEntry } from "../../src/api/run_types";
import type { JsonObject } from "../../src/api/types";
import { escapeId, gitCommand, shellWord } from "../../src/fold/git_words";
import { CHANNELS, hasMore, limitsOf, shapeOf, type Live, type Piece, type Work } from "../../src/fold/work";
import { judgedAt, readJudgement, readWork } from "../../src/fold/work_read";
import states from "./work_states.json";

const IDLE: Live = { isRunning: false, running: [], tasks: [], asked: [] };
type Name = keyof typeof states;

function state(name: Name, changed: JsonObject = {}): JsonObject {
  return { ...(states[name] as unknown as JsonObject), ...changed };
}

function read(name: Name, live: Live | null = IDLE, changed: JsonObject = {}): Work {
  const channels = state(name, changed);
  const work = readWork(shapeOf(Object.keys(channels)) ?? "plan", channels, live);
  if (work === null) throw new Error("there is no work");
  return work;
}

function lines(pieces: Piece[]): string[] {
  return pieces.flatMap(({ name, title, mark, facts, reason, used, parts }) => [[mark.text, name, title, ...facts, reason ?? "", used.cost].filter((part) => part !== "" && part !== 0).join(" | "), ...lines(parts).map((line) => `  ${line}`)]);
}

function brief(id: string, node: string, status: Brief["status"]): Brief {
  return { id, node, status, attempts: 1, error: null, started_at: null, ended_at: null, effects: 0, questions: 0, has_inside: false };
}

test("a state is known by its channels", () => {
  expect([shapeOf(CHANNELS.plan), shapeOf(CHANNELS["code-task"]), shapeOf(["tasks", "phases"]), shapeOf([])]).toEqual(["plan", "code-task", null, null]);
  expect(readWork("plan", state("tasks_done", { tasks: [] }), IDLE)).toBeNull();
  expect(readWork("code-task", state("code_done", { spec: null }), IDLE)).toBeNull();
});

test("tasks have marks, attempts, reviews, commits and costs by role", () => {
  const work = read("tasks_done");
  expect([work.listName, work.outcome?.text, work.done, work.total, work.used.cost]).toEqual(["Tasks", "completed", 2, 2, 16000]);
  expect(lines(work.pieces)).toEqual(["done | Task 1 | Print the table | 2 attempts | 2 reviews | 11000", "done | Task 2 | Choose a day | 1 attempt | 1 review | 5000"]);
  expect(work.pieces[0]?.roles).toEqual([
    { role: "developer", tokens: 2380, cost: 7000 },
    { role: "reviewer", tokens: 1620, cost: 4000 },
  ]);
  expect(work.pieces[0]?.commit).toHaveLength(40);
  expect(work.reviews).toEqual([{ label: "Final review", verdict: { text: "approved", mark: "good" }, summary: "The script prints the tides of a day.", comments: [] }]);
  expect(work.commands.map(({ label, command }) => `${label}: ${command}`)).toEqual([
    "Look at it: git -C /home/ada/tides log --patch 51a434b9b..superstep/tides",
    "Merge it: git -C /home/ada/tides switch main && git -C /home/ada/tides merge superstep/tides",
  ]);
});

test("a halted task has its open comments and the references of its work", () => {
  const asked = [{ task: "1", reason: "it was not accepted after 2 attempts", salvage: "refs/superstep/tasks-halted/task-1/attempt-2" }];
  const work = read("tasks_halted", { ...IDLE, asked });
  expect(lines(work.pieces)).toEqual(["halted | Task 1 | Print the table | 2 attempts | 2 reviews | it was not accepted after 2 attempts | 11000", "pending | Task 2 | Choose a day"]);
  const [task, next] = work.pieces;
  expect(task?.reviews.map(({ verdict, comments }) => [verdict.text, comments.length])).toEqual([["rejected (major)", 4]]);
  expect(task?.salvage).toEqual(["refs/superstep/tasks-halted/task-1/attempt-1", "refs/superstep/tasks-halted/task-1/attempt-2"]);
  expect([task?.isCurrent, next !== undefined && hasMore(next)]).toEqual([true, false]);
  expect(work.commands).toEqual([]);
});

test("failed checks are shown with the end of their output", () => {
  const [task] = read("tasks_checks").pieces;
  expect(task?.failures).toHaveLength(1);
  expect(task?.failures[0]).toContain("no tides today");
});

test("a task that another plan postpones has its notes", () => {
  const unfinished = [{ task: "2", comments: [{ issue: "Slow.", severity: "minor" }], failures: ["no"], last_review: null, salvage: "refs/superstep/t/task-2/attempt-1" }];
  const [, task] = read("tasks_halted", IDLE, { unfinished }).pieces;
  expect([task?.reason, task?.failures, task?.salvage]).toEqual(["waits for the tasks that a new plan put before it", ["no"], ["refs/superstep/t/task-2/attempt-1"]]);
});

test("a task that nobody works on has stopped, and one of the past has not", () => {
  const [first, ...others] = states.tasks_halted.tasks;
  const changed = { tasks: [{ ...first, mark: "running" }, ...others], outcome: null } as unknown as JsonObject;
  const mark = (live: Live | null): string | undefined => read("tasks_halted", live, changed).pieces[0]?.mark.text;
  expect([mark(null), mark(IDLE), mark({ ...IDLE, isRunning: true }), mark({ ...IDLE, asked: [{ task: "1" }] })]).toEqual(["running", "stopped", "running", "waits"]);
});

test("phases have subtasks, attempts and reviews", () => {
  const work = read("phases_done");
  expect([work.listName, work.done, work.total]).toEqual(["Phases", 5, 5]);
  expect(lines(work.pieces)).toEqual([
    "done | Phase 1 | 1 of 1 subtask | 4000",
    "  done | 1 | Read the table | 4000",
    "done | Phase 2 | 3 of 3 subtasks | attempt 2 | 18000",
    "  done | 2a | Print a day | 6000",
    "  done | 2b | Draw a day | 7000",
    "  done | 2c | Test the table | 5000",
    "done | Phase 3 | 1 of 1 subtask | 2000",
    "  done | 3 | Put it together | 2000",
  ]);
  expect(work.notices).toHaveLength(1);
  expect(work.pieces[1]?.folder).toBeNull();
});

test("a phase that was rejected is halted, with all comments and all work that was saved", () => {
  const asked = [{ phase: 2, task: "", salvage: ["refs/superstep/phases-rejected/phase-2/attempt-2/task-2a"] }];
  const [, phase] = read("phases_rejected", { ...IDLE, asked }).pieces;
  expect([phase?.mark.text, phase?.reason]).toEqual(["halted", "the review rejected it twice"]);
  expect(phase?.reviews.map(({ verdict, comments }) => [verdict.text, comments.length])).toEqual([["rejected (critical)", 2]]);
  expect(phase?.salvage).toHaveLength(5);
});

test("a subtask that failed says why, and has its own work", () => {
  const [, phase] = read("phases_failed").pieces;
  const [failed, ended] = phase?.parts ?? [];
  expect([failed?.mark.text, failed?.reason, failed?.salvage]).toEqual(["failed", "no turn of phase_failed.yaml fits: developer, task `2a`, attempt 2", ["refs/superstep/phases-failed/phase-2/attempt-1/task-2a"]]);
  expect([ended?.mark.text, ended?.files]).toEqual(["done", ["README.md", "draw.sh"]]);
});

test("a phase that runs has its worktrees, and what its agents do", () => {
  const running = [
    { node: "run_subtask", label: "task 2a", started_at: "2026-01-31T09:30:00Z" },
    { node: "run_subtask/developer", label: "task 2a, attempt 1", action: "write README.md", cost: 500, started_at: "2026-01-31T09:30:01Z" },
    { node: "run_subtask", label: "task 2b" },
  ];
  const tasks = [brief("17-1", "run_subtask", "pending"), brief("17-2", "run_subtask", "pending"), brief("17-3", "run_subtask", "done")];
  const [, phase] = read("phases_running", { ...IDLE, isRunning: true, running, tasks }).pieces;
  expect(phase?.folder).toBe("/home/ada/tides/.superstep/worktrees/superstep%2Fphases-slow");
  expect(phase?.parts.map(({ mark, folder, facts }) => [mark.text, folder?.split("/").at(-1), ...facts])).toEqual([
    ["running", "phase-2-attempt-1-task-2a", "write README.md"],
    ["running", "phase-2-attempt-1-task-2b"],
    ["ended", undefined],
  ]);
  expect([phase?.parts[0]?.used.cost, phase?.parts[0]?.task]).toEqual([500, "17-1"]);
});

test("subtasks of a phase that nobody runs have stopped, unless they have ended or wait", () => {
  const tasks = [brief("17-1", "run_subtask", "interrupted"), brief("17-2", "run_subtask", "pending"), brief("17-3", "run_subtask", "done")];
  const marks = (live: Live | null): string[] => read("phases_running", live).pieces[1]?.parts.map(({ mark }) => mark.text) ?? [];
  expect(marks({ ...IDLE, tasks })).toEqual(["waits", "stopped", "ended"]);
  expect(marks({ ...IDLE, asked: [{ task: "2b" }] })).toEqual(["stopped", "waits", "stopped"]);
  expect(marks(null)).toEqual(["running", "running", "running"]);
});

test("attempts at a task have decisions, findings, commits and references", () => {
  const work = read("code_given_up");
  expect(lines(work.pieces)).toEqual([
    "retried | Attempt 1 | rule retry | `build` failed; 2 attempts left | 4000",
    expect.stringContaining("split | Attempt 2 | rule repeated | 40438649 (print.sh"),
    "retried | Attempt 3 | the result of its children | rule children | `build` failed on the result of the children; one more attempt | 8000",
    "given up | Attempt 4 | rule children | `build` and `progress` failed after the split, and a task is split at most once | 2000",
  ]);
  const last = work.pieces.at(-1);
  expect([last?.findings.length, last?.salvage, last?.isCurrent]).toEqual([3, ["refs/superstep/ct-gaveup/attempt-4"], true]);
  expect(last?.verifiers.map(({ name, verdict }) => `${name} ${verdict.text}`)).toEqual(["build failed", "secrets passed", "test passed", "progress failed"]);
  expect(work.children.map(({ name, mark }) => `${name} ${mark.text}`)).toEqual(["tide-scripts.1 given up", "tide-scripts.2 given up"]);
});

test("a task that is done has its children and its commit", () => {
  const work = read("code_done");
  expect([work.outcome?.text, work.done, work.total]).toEqual(["done", 2, 2]);
  expect(work.children.map(({ reason }) => reason)).toEqual([null, null]);
  expect(work.commands[0]?.command).toBe("git -C /home/ada/tides log --patch 51a434b9b..superstep/ct-done");
  expect(work.pieces.map(({ salvage }) => salvage.length)).toEqual([1, 1, 0]);
});

test("the attempt that is under way comes last", () => {
  const [first] = states.code_done.attempts;
  const changed = { attempts: [first], attempt: { ...states.code_done.attempt, number: 2, turns: 1, kind: "turn" }, outcome: null, decision: null } as unknown as JsonObject;
  const running = [{ node: "execute", label: "task tide-scripts, attempt 2", action: "write draw.sh" }];
  const [, open] = read("code_done", { ...IDLE, isRunning: true, running }, changed).pieces;
  expect([open?.name, open?.mark.text, open?.facts, open?.isCurrent]).toEqual(["Attempt 2", "running", ["1 turn", "write draw.sh"], true]);
});

test("a limit that a person has set counts instead of the profile's", () => {
  const profile = { budget: { cost: 5000, tokens: null, wall: null } };
  expect(limitsOf(profile, {}, { cost: 6000, tokens: 10 })).toEqual([{ name: "Cost", used: 6000, limit: 5000 }]);
  expect(limitsOf(profile, { cost: { limit: 9000, at: 1 } }, { cost: 6000, tokens: 10 })).toEqual([{ name: "Cost", used: 6000, limit: 9000 }]);
  expect(limitsOf(undefined, null, { cost: 0, tokens: 0 })).toEqual([]);
});

test("judgements are read from the checkpoints after them, the newest first", () => {
  const step = (checkpoint: number, ...nodes: string[]): CheckpointEntry => ({ checkpoint, parent: null, step: checkpoint, source: "loop", created_at: "", next: nodes, tags: [], tasks: nodes.map((node) => brief(`${checkpoint}-1`, node, "done")) });
  const judged = judgedAt([step(1, "developer"), step(2, "verify"), step(3, "reviewer"), step(5, "halt")]);
  expect(judged.map(({ node, from, to, task }) => `${node} ${from} ${to} ${task}`)).toEqual(["reviewer 3 5 3-1", "verify 2 3 2-1"]);
  const [reviewer, verify] = judged;
  if (reviewer === undefined || verify === undefined) throw new Error("there is none");
  expect(readJudgement(reviewer, state("tasks_halted"))?.review).toMatchObject({ label: "Task 1, attempt 2", verdict: { text: "rejected (major)" } });
  expect(readJudgement(verify, state("tasks_halted"))).toBeNull();
  expect(readJudgement(verify, state("tasks_checks"))?.failures).toHaveLength(1);
  expect(readJudgement({ ...reviewer, node: "review_phase" }, state("phases_rejected"))?.review.label).toBe("Phase 2, attempt 2");
});

test("words of git commands are quoted as the command line quotes them", () => {
  expect(gitCommand("/home/ada/my tides", "show x")).toBe("git -C '/home/ada/my tides' show x");
  expect([shellWord("a/b-c.d"), shellWord("-x"), shellWord("it's"), shellWord("a\u202eb"), shellWord("")]).toEqual(["a/b-c.d", "'-x'", "'it'\\''s'", "$'a\\xe2\\x80\\xaeb'", "''"]);
  expect([escapeId("fix: a/b"), escapeId("superstep/p"), escapeId("v1.2"), escapeId("a.lock"), escapeId("-é"), escapeId("")]).toEqual(["fix%3A%20a%2Fb", "superstep%2Fp", "v1.2", "a%2Elock", "%2D%C3%A9", "%"]);
});
