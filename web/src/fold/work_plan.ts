// The work on a plan, task by task or phase by phase, from the state of its run. Knows no request and no DOM.

import type { Brief } from "../api/run_types";
import type { Json, JsonObject } from "../api/types";
import { escapeId, gitCommand, shellWord, shortId } from "./git_words";
import { isObject, text } from "./schema";
import type { StatusWords } from "./task";
import { atWork, counted, limitsOf, listOf, number, objectOf, objectsOf, piece, reviewOf, rolesOf, runningNow, textsOf, usedOf, type Command, type Live, type Piece, type Work } from "./work";

const MARKS: Record<string, StatusWords> = {
  pending: { text: "pending", mark: undefined },
  running: { text: "running", mark: "accent" },
  done: { text: "done", mark: "good" },
  completed: { text: "done", mark: "good" },
  skipped: { text: "skipped", mark: undefined },
  halted: { text: "halted", mark: "warn" },
  failed: { text: "failed", mark: "bad" },
  retrying: { text: "running again", mark: "accent" },
};
const STOPPED: StatusWords = { text: "stopped", mark: undefined };
const WAITS: StatusWords = { text: "waits", mark: "warn" };
const ENDED: StatusWords = { text: "ended", mark: undefined };

const OUTCOMES: Record<string, StatusWords> = {
  completed: { text: "completed", mark: "good" },
  halted: { text: "halted: a person decides", mark: "warn" },
  rejected: { text: "the plan was rejected", mark: "bad" },
  cancelled: { text: "cancelled", mark: undefined },
  failed: { text: "failed", mark: "bad" },
};
const UNDER_WAY = /^(running|retrying)$/;
const OVER = ["completed", "rejected", "cancelled", "failed"];

/** Reads the work on a plan; null before the plan has tasks. */
export function readPlanWork(state: JsonObject, live: Live | null): Work | null {
  const phases = objectsOf(state["phases"]);
  const tasks = objectsOf(state["tasks"]);
  if (phases.length + tasks.length === 0) return null;
  const isOver = OVER.includes(text(state["outcome"]) ?? "");
  const pieces = phases.length > 0 ? phases.map((phase) => readPhase(phase, state, live, isOver)) : tasks.map((task, at) => readTask(task, at === number(state["current_task_index"]), state, live, isOver));
  const parts = phases.length > 0 ? pieces.flatMap((phase) => phase.parts) : pieces;
  const used = usedOf(state["usage"]);
  return {
    shape: "plan",
    heading: phases.length > 0 ? "Phases of the plan" : "Tasks of the plan",
    listName: phases.length > 0 ? "Phases" : "Tasks",
    about: aboutOf(state),
    outcome: OUTCOMES[text(state["outcome"]) ?? ""] ?? null,
    done: parts.filter(({ mark }) => mark.text === "done").length,
    total: parts.length,
    pieces,
    children: [],
    used,
    limits: limitsOf(state["profile"], state["raised"], used),
    roles: rolesOf(state["used"]),
    reviews: reviewOf(state["final_review"], "Final review"),
    notices: textsOf(state["notices"]),
    commands: commandsOf(state, parts, isOver),
    repository: text(state["working_dir"]) ?? "",
  };
}

function aboutOf(state: JsonObject): Work["about"] {
  const issue = objectOf(state["issue"]);
  const facts: [string, string | null][] = [
    ["Issue", text(issue["id"]) === null ? null : `${text(issue["id"])}: ${text(issue["title"]) ?? ""}`],
    ["Goal", text(state["goal"])],
    ["Plan", text(state["plan_path"])],
    ["Branch", branchOf(state)],
    ["Feedback", text(state["plan_feedback"])],
  ];
  return facts.flatMap(([name, words]) => (words === null || words === "" ? [] : [{ name, text: words }]));
}

function readTask(task: JsonObject, isCurrent: boolean, state: JsonObject, live: Live | null, isOver: boolean): Piece {
  const id = text(task["id"]) ?? "";
  const notes = objectsOf(state["unfinished"]).find((entry) => entry["task"] === id);
  const asked = live?.asked ?? [];
  const own = isCurrent && task["mark"] !== "skipped" ? state : (notes ?? {});
  const attempts = number(task["attempts"]);
  const isDone = task["mark"] === "done";
  const comments = isDone ? [] : listOf(own["open_comments"] ?? own["comments"]);
  const last = reviewOf(own["last_review"], "Last review");
  const now = runningNow(live, id);
  const working = isCurrent ? atWork(live) : undefined;
  return {
    ...piece(id, `Task ${id}`, text(task["title"]) ?? ""),
    mark: task["mark"] === "running" && (isOver || (live !== null && !live.isRunning)) ? (live !== null && live.asked.length > 0 ? WAITS : STOPPED) : (MARKS[text(task["mark"]) ?? ""] ?? STOPPED),
    facts: [...(attempts > 0 ? [counted(attempts, "attempt"), counted(number(task["reviews"]), "review")] : []), ...(now?.action !== undefined ? [now.action] : working !== undefined ? [`${working.node} works`] : [])],
    task: working?.id ?? null,
    reason: isCurrent ? haltReason(state, asked) : notes === undefined ? null : "waits for the tasks that a new plan put before it",
    commit: text(task["commit"]),
    used: usedOfTask(task),
    roles: rolesOf(task["used"]),
    reviews: comments.length > 0 ? last.map((review) => ({ ...review, label: "Last review, and what is still open", comments })) : last,
    failures: isDone ? [] : textsOf(own["failures"]),
    salvage: isDone ? [] : unique([...refs(own["salvage"]), ...refs(isCurrent ? state["taken_out"] : null), ...askedSalvage(asked, id)]),
    isCurrent: isCurrent && !isOver,
  };
}

function readPhase(phase: JsonObject, state: JsonObject, live: Live | null, isOver: boolean): Piece {
  const index = number(phase["phase_index"]);
  const subtasks = objectsOf(phase["subtasks"]);
  const isCurrent = index === number(state["phase_index"]) && phase["status"] !== "pending" && !isOver;
  const work = isCurrent ? objectOf(state["phase"]) : {};
  const halted = objectOf(objectOf(work["standing"])["halted"]);
  const isHalted = text(halted["reason"]) !== null;
  const attempt = number(phase["attempt"]);
  const at = isCurrent ? subtasksAtWork(subtasks, live) : new Map<string, Brief>();
  const parts = subtasks.map((subtask) => readSubtask(subtask, { attempt, index, isCurrent, isOver, isHalted, state, live, brief: at.get(text(subtask["subtask_id"]) ?? "") }));
  const done = parts.filter(({ mark }) => mark.text === "done").length;
  const status = text(phase["status"]) ?? "";
  const review = reviewOf(phase["review_result"], "Review of the phase").map((one) => (listOf(work["comments"]).length > one.comments.length && one.verdict.mark === "bad" ? { ...one, comments: listOf(work["comments"]) } : one));
  const asked = isCurrent ? (live?.asked ?? []).flatMap((payload) => (isObject(payload) ? refs(payload["salvage"]) : [])) : [];
  return {
    ...piece(String(index + 1), `Phase ${index + 1}`, ""),
    mark: isHalted ? (MARKS["halted"] as StatusWords) : parts.length > 0 && parts.every(({ mark }) => mark.text === "skipped") ? (MARKS["skipped"] as StatusWords) : isOver && UNDER_WAY.test(status) ? STOPPED : (MARKS[status] ?? STOPPED),
    facts: [...(status === "pending" ? [counted(parts.length, "subtask")] : [`${done} of ${counted(parts.length, "subtask")}`]), ...(attempt > 1 ? [`attempt ${attempt}`] : [])],
    reason: isHalted && text(halted["subtask"]) === null ? text(halted["reason"]) : isCurrent && !isHalted ? text(work["retry_reason"]) : null,
    commit: null,
    used: { tokens: 0, cost: parts.reduce((sum, part) => sum + part.used.cost, 0) },
    reviews: review,
    salvage: unique([...refs(work["salvage"]), ...refs(work["collided"]), ...asked]).filter((ref) => !parts.some((part) => part.salvage.includes(ref))),
    folder: isCurrent && !isHalted && UNDER_WAY.test(status) ? worktrees(state) : null,
    parts,
    isCurrent,
  };
}

interface InPhase {
  attempt: number;
  index: number;
  isCurrent: boolean;
  isOver: boolean;
  isHalted: boolean;
  state: JsonObject;
  live: Live | null;
  /** The task of the graph that works on it. */
  brief: Brief | undefined;
}

/** Returns the tasks of the graph that work on subtasks, by their ids: a task has none in its name, but both are in the order of the plan. */
function subtasksAtWork(subtasks: JsonObject[], live: Live | null): Map<string, Brief> {
  const open = subtasks.filter(({ status }) => UNDER_WAY.test(text(status) ?? ""));
  const tasks = (live?.tasks ?? []).filter(({ node }) => node === "run_subtask");
  if (open.length !== tasks.length) return new Map();
  return new Map(open.flatMap((subtask, at) => (tasks[at] === undefined ? [] : [[text(subtask["subtask_id"]) ?? "", tasks[at]] as const])));
}

function readSubtask(subtask: JsonObject, { attempt, index, isCurrent, isOver, isHalted, state, live, brief }: InPhase): Piece {
  const id = text(subtask["subtask_id"]) ?? "";
  const work = isCurrent ? objectOf(objectOf(state["works"])[id]) : {};
  const isSkipped = subtask["omitted"] !== undefined && subtask["status"] === "failed";
  const status = isSkipped ? "skipped" : (text(subtask["status"]) ?? "");
  const isUnderWay = UNDER_WAY.test(status) && !isOver && !isHalted;
  const now = runningNow(live, id);
  const mark = UNDER_WAY.test(status) && !isUnderWay ? STOPPED : isUnderWay ? underWay(status, id, live, brief) : (MARKS[status] ?? STOPPED);
  const isAtWork = isUnderWay && mark !== ENDED;
  const second = work["second"] === true ? "-2" : "";
  const folder = text(objectOf(objectOf(objectOf(work["paused"])["folder"]))["directory"]) ?? (isAtWork && isCurrent ? `${worktrees(state)}/phase-${index + 1}-attempt-${attempt}-task-${id}${second}` : null);
  return {
    ...piece(id, id, text(subtask["title"]) ?? ""),
    mark,
    facts: [...(number(work["turns"]) > 1 ? [counted(number(work["turns"]), "turn")] : []), ...(now?.action === undefined || !isUnderWay ? [] : [now.action])],
    reason: text(subtask["error"]),
    commit: text(subtask["commit"]),
    used: { tokens: 0, cost: number(subtask["cost"]) + (isUnderWay ? (now?.cost ?? 0) : 0) },
    startedAt: text(subtask["started_at"]) ?? (isAtWork ? (now?.started_at ?? brief?.started_at ?? null) : null),
    endedAt: text(subtask["completed_at"]),
    task: isUnderWay ? (brief?.id ?? null) : null,
    files: textsOf(subtask["files"]),
    salvage: refs(work["salvage"]),
    folder,
    isCurrent: isAtWork,
  };
}

/** Returns how far a subtask is whose result is not in the state yet: that comes when all of its phase have ended. */
function underWay(status: string, id: string, live: Live | null, brief: Brief | undefined): StatusWords {
  const own = MARKS[status] ?? STOPPED;
  if (live === null || runningNow(live, id) !== undefined) return own;
  if (brief?.status === "done") return ENDED;
  if (brief?.status === "failed") return MARKS["failed"] ?? own;
  if (brief?.status === "interrupted" || live.asked.some((payload) => objectOf(payload)["task"] === id)) return WAITS;
  return live.isRunning ? own : STOPPED;
}

function usedOfTask(task: JsonObject): { tokens: number; cost: number } {
  const tokens = Object.values(objectOf(task["used"])).reduce<number>((sum, usage) => sum + usedOf(usage).tokens, 0);
  return { tokens, cost: number(task["cost"]) };
}

function haltReason(state: JsonObject, asked: Json[]): string | null {
  const standing = objectOf(state["standing"]);
  const own = text(standing["halted"]) ?? text(standing["tampered"]);
  if (own !== null) return own;
  if (state["outcome"] !== "halted") return null;
  return asked.flatMap((payload) => text(objectOf(payload)["reason"]) ?? [])[0] ?? null;
}

function askedSalvage(asked: Json[], task: string): string[] {
  return asked.flatMap((payload) => (isObject(payload) && payload["task"] === task ? refs(payload["salvage"]) : []));
}

/** References of a field that has none, one or several. */
function refs(value: Json | undefined): string[] {
  return typeof value === "string" ? [value] : textsOf(value);
}

function unique(list: string[]): string[] {
  return [...new Set(list)];
}

function branchOf(state: JsonObject): string | null {
  return text(objectOf(objectOf(state["start"])["at"])["branch"]);
}

/** Returns the folder of the run's worktrees: each branch has its own. */
function worktrees(state: JsonObject): string {
  return `${text(state["working_dir"]) ?? ""}/.superstep/worktrees/${escapeId(branchOf(state) ?? "")}`;
}

/** Returns the commands that show what a run has made, and that merge it. */
function commandsOf(state: JsonObject, parts: Piece[], isOver: boolean): Command[] {
  const [folder, branch] = [text(state["working_dir"]) ?? "", branchOf(state)];
  const commits = parts.filter(({ commit }) => commit !== null).length;
  if (branch === null || commits === 0) return [];
  return workCommands(folder, branch, state["start"], state["came_from"], isOver && state["outcome"] === "completed");
}

/** Returns the commands that show the commits of a branch, and merge it into the branch where the work began. */
export function workCommands(folder: string, branch: string, start: Json | undefined, from: Json | undefined, isComplete: boolean): Command[] {
  const own = shellWord(branch);
  const commit = text(objectOf(objectOf(start)["at"])["commit"]);
  const look = { label: "Look at it", command: gitCommand(folder, `log --patch ${commit === null ? own : `${shortId(commit)}..${own}`}`) };
  const into = text(objectOf(objectOf(from)["branch"])["name"]);
  const born = text(objectOf(objectOf(from)["unborn"])["name"]);
  const merge = gitCommand(folder, `merge ${own}`);
  const command = into !== null && into !== branch ? `${gitCommand(folder, `switch ${shellWord(into)}`)} && ${merge}` : born !== null && born !== branch ? gitCommand(folder, `branch ${shellWord(born)} ${own}`) : merge;
  return isComplete ? [look, { label: "Merge it", command }] : [look];
}
