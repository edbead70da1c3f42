// The work of the agent workflows as people see it: tasks, phases or attempts with marks, reviews, findings, commits and costs. What is read is
// the state of a run, by the names of its channels. Knows no request and no DOM.

import type { Brief, RunningTask } from "../api/run_types";
import type { Json, JsonObject } from "../api/types";
import { isObject, text } from "./schema";
import type { StatusWords } from "./task";

export type WorkShape = "plan" | "code-task";

/** What an agent or a role has used. */
export interface Used {
  tokens: number;
  /** In millionths of a dollar. */
  cost: number;
}

export interface RoleUse extends Used {
  role: string;
}

export interface Review {
  label: string;
  verdict: StatusWords;
  summary: string | null;
  comments: Json[];
}

/** A limit of the run and what was used of it, in millionths of a dollar or in tokens. */
export interface Limit {
  name: "Cost" | "Tokens";
  used: number;
  limit: number;
}

export interface Command {
  label: string;
  command: string;
}

/** A verifier of the last attempt. */
export interface Verifier {
  name: string;
  stage: string;
  verdict: StatusWords;
  ms: number;
}

/** A task, a phase, a subtask or an attempt. */
export interface Piece {
  id: string;
  /** `Task 1`, `Phase 2`, `Attempt 3`; a number alone inside a phase. */
  name: string;
  title: string;
  mark: StatusWords;
  facts: string[];
  /** Why it failed, waits or was left out. */
  reason: string | null;
  commit: string | null;
  used: Used;
  roles: RoleUse[];
  startedAt: string | null;
  endedAt: string | null;
  files: string[];
  reviews: Review[];
  /** Failed checks, each with the end of its output. */
  failures: string[];
  findings: Json[];
  verifiers: Verifier[];
  /** References of work that was not accepted. */
  salvage: string[];
  /** The folder in which it is worked on. */
  folder: string | null;
  /** The id of the graph's task that works on it now. */
  task: string | null;
  /** Subtasks of a phase, children of a task. */
  parts: Piece[];
  /** Set for what is worked on, or waits for a person. */
  isCurrent: boolean;
}

export interface Work {
  shape: WorkShape;
  heading: string;
  /** `Tasks`, `Phases` or `Attempts`. */
  listName: string;
  about: { name: string; text: string }[];
  outcome: StatusWords | null;
  done: number;
  total: number;
  pieces: Piece[];
  /** The smaller tasks that a task was split into. */
  children: Piece[];
  used: Used;
  limits: Limit[];
  roles: RoleUse[];
  reviews: Review[];
  notices: string[];
  commands: Command[];
  /** The folder of the repository. */
  repository: string;
}

/** What is known of a run beside its newest state. */
export interface Live {
  /** Set if a process runs it. */
  isRunning: boolean;
  running: RunningTask[];
  /** The tasks of the graph that run next, or run already. */
  tasks: Brief[];
  /** The payloads of its open questions. */
  asked: Json[];
}

/** The channels that are read of each shape. */
export const CHANNELS: Record<WorkShape, string[]> = {
  plan: [
    ...["issue", "goal", "plan_path", "plan_feedback", "working_dir", "profile", "start", "came_from"],
    ...["tasks", "current_task_index", "open_comments", "failures", "last_review", "standing", "salvage", "taken_out", "unfinished"],
    ...["phases", "phase_index", "phase", "works"],
    ...["outcome", "agentic_status", "usage", "used", "raised", "final_review", "notices"],
  ],
  "code-task": ["settings", "spec", "place", "start", "attempt", "outputs", "obstacle", "attempts", "decision", "children", "results", "usage", "used", "raised", "outcome", "notices"],
};

/** Returns which work the channels of a state describe, if any. */
export function shapeOf(channels: Iterable<string>): WorkShape | null {
  const names = new Set(channels);
  const hasAll = (...wanted: string[]): boolean => wanted.every((name) => names.has(name));
  if (hasAll("tasks", "phases", "works", "current_task_index", "working_dir", "agentic_status")) return "plan";
  return hasAll("spec", "attempt", "attempts", "outputs", "decision", "results", "settings") ? "code-task" : null;
}

/** An unstarted piece without anything to say. */
export function piece(id: string, name: string, title: string): Piece {
  return {
    ...{ id, name, title, mark: { text: "pending", mark: undefined }, facts: [], reason: null, commit: null, used: { tokens: 0, cost: 0 }, roles: [] },
    ...{ startedAt: null, endedAt: null, files: [], reviews: [], failures: [], findings: [], verifiers: [], salvage: [], folder: null, task: null, parts: [], isCurrent: false },
  };
}

/** Returns whether there is more of a piece than its line. */
export function hasMore({ reviews, failures, findings, verifiers, salvage, roles, files, folder }: Piece): boolean {
  return [reviews, failures, findings, verifiers, salvage, files].some((list) => list.length > 0) || roles.length > 0 || folder !== null;
}

export function usedOf(usage: Json | undefined): Used {
  const own = objectOf(usage);
  const tokens = ["input", "output", "cache_read", "cache_write"].reduce((sum, name) => sum + number(own[name]), 0);
  return { tokens, cost: number(own["cost"]) };
}

/** The roles that have used anything, the dearest first. */
export function rolesOf(used: Json | undefined): RoleUse[] {
  const all = Object.entries(objectOf(used)).map(([role, usage]) => ({ role, ...usedOf(usage) }));
  return all.filter(({ tokens, cost }) => tokens > 0 || cost > 0).sort((a, b) => b.cost - a.cost || b.tokens - a.tokens);
}

/** Returns a review as its comments with a verdict. */
export function reviewOf(review: Json | undefined, label: string): Review[] {
  if (!isObject(review)) return [];
  const [isApproved, severity] = [review["approved"] === true, text(review["severity"])];
  const verdict: StatusWords = isApproved ? { text: "approved", mark: "good" } : { text: severity === null || severity === "none" ? "rejected" : `rejected (${severity})`, mark: "bad" };
  const summary = text(review["summary"]);
  return [{ label, verdict, summary: summary === "" ? null : summary, comments: listOf(review["comments"]) }];
}

const LIMITS: [string, Limit["name"], (used: Used) => number][] = [
  ["cost", "Cost", ({ cost }) => cost],
  ["tokens", "Tokens", ({ tokens }) => tokens],
];

/** Returns what was used of each limit of the run that is set: those of people count instead of the profile's. */
export function limitsOf(profile: Json | undefined, raised: Json | undefined, used: Used): Limit[] {
  const [budget, later] = [objectOf(objectOf(profile)["budget"]), objectOf(raised)];
  return LIMITS.flatMap(([key, name, of]) => {
    const limit = objectOf(later[key])["limit"] ?? budget[key];
    return typeof limit === "number" ? [{ name, used: of(used), limit }] : [];
  });
}

/** `1 attempt`, `2 attempts`. */
export function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}

/** The tasks of a plan that run now, by id: their agents have labels like `task 2a, attempt 1`. */
export function runningNow(live: Live | null, id: string): RunningTask | undefined {
  const isOf = ({ label }: RunningTask): boolean => label === `task ${id}` || label?.startsWith(`task ${id},`) === true;
  return (live?.running ?? []).filter(isOf).sort((a, b) => b.node.length - a.node.length)[0];
}

/** Returns the task of the graph that works at the moment, if it is the only one. */
export function atWork(live: Live | null): Brief | undefined {
  const open = live?.isRunning === true ? live.tasks.filter(({ status }) => status === "pending") : [];
  return open.length === 1 ? open[0] : undefined;
}

export function objectOf(value: Json | undefined): JsonObject {
  return isObject(value) ? value : {};
}

export function listOf(value: Json | undefined): Json[] {
  return Array.isArray(value) ? value : [];
}

export function objectsOf(value: Json | undefined): JsonObject[] {
  return listOf(value).filter(isObject);
}

export function textsOf(value: Json | undefined): string[] {
  return listOf(value).filter((item) => typeof item === "string");
}

export function number(value: Json | undefined): number {
  return typeof value === "number" && Number.isFinite(value) ? value : 0;
}
