// The work of a run from the channels of its state, whichever workflow it is, and the judgements on earlier attempts. Knows no request and no
// DOM.

import type { CheckpointEntry } from "../api/run_types";
import type { JsonObject } from "../api/types";
import { text } from "./schema";
import { number, objectOf, objectsOf, reviewOf, textsOf, type Live, type Review, type Work, type WorkShape } from "./work";
import { readPlanWork } from "./work_plan";
import { readTaskWork } from "./work_task";

export function readWork(shape: WorkShape, state: JsonObject, live: Live | null): Work | null {
  return shape === "plan" ? readPlanWork(state, live) : readTaskWork(state, live);
}

/** The place of a judgement: the checkpoint that follows it, and the task that made it. */
export interface Judged {
  /** The checkpoint that planned the task. */
  from: number;
  task: string;
  /** The checkpoint whose state has it. */
  to: number;
  node: string;
}

/** Nodes after which the state has a judgement on an attempt. */
const JUDGES = ["reviewer", "verify", "review_phase"];
/** The channels of a judgement. */
export const JUDGEMENT = ["tasks", "current_task_index", "last_review", "failures", "standing", "phases", "phase_index"];

/** Returns where attempts were judged, the newest first. `line` are checkpoints, the oldest first. */
export function judgedAt(line: CheckpointEntry[]): Judged[] {
  const found = line.slice(0, -1).flatMap(({ checkpoint, tasks }, at): Judged[] => {
    const next = line[at + 1];
    const judge = tasks.find(({ node, status }) => JUDGES.includes(node) && status === "done");
    return judge === undefined || next === undefined ? [] : [{ from: checkpoint, task: judge.id, to: next.checkpoint, node: judge.node }];
  });
  return found.reverse();
}

export interface Judgement extends Judged {
  review: Review;
  /** Failed checks. */
  failures: string[];
}

/** Reads a judgement from the state after it; null for checks that passed, since a review follows them. */
export function readJudgement(judged: Judged, state: JsonObject): Judgement | null {
  if (judged.node === "review_phase") {
    const phase = objectsOf(state["phases"]).find((one) => one["phase_index"] === state["phase_index"]);
    const [review] = reviewOf(phase?.["review_result"], `Phase ${number(state["phase_index"]) + 1}, attempt ${number(phase?.["attempt"])}`);
    return review === undefined ? null : { ...judged, review, failures: [] };
  }
  const line = objectOf(objectsOf(state["tasks"])[number(state["current_task_index"])]);
  const label = `Task ${text(line["id"]) ?? ""}, attempt ${number(line["attempts"])}`;
  if (judged.node === "verify") {
    const failures = textsOf(state["failures"]);
    return failures.length === 0 ? null : { ...judged, review: { label, verdict: { text: "checks failed", mark: "bad" }, summary: null, comments: [] }, failures };
  }
  const [review] = reviewOf(state["last_review"], label);
  return review === undefined ? null : { ...judged, review, failures: [] };
}
