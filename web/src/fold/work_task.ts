// The work on one task: its attempts with decisions and findings, its verifiers, the smaller tasks that it was split into. Knows no request and
// no DOM.

import type { Json, JsonObject } from "../api/types";
import { text } from "./schema";
import type { StatusWords } from "./task";
import { atWork, counted, limitsOf, listOf, number, objectOf, objectsOf, piece, rolesOf, runningNow, textsOf, usedOf, type Live, type Piece, type Verifier, type Work } from "./work";
import { workCommands } from "./work_plan";

const DECISIONS: Record<string, StatusWords> = {
  DONE: { text: "done", mark: "good" },
  RETRY: { text: "retried", mark: undefined },
  SPLIT: { text: "split", mark: "accent" },
  GIVE_UP: { text: "given up", mark: "bad" },
  FAIL: { text: "failed", mark: "bad" },
  ASK: { text: "asks", mark: "warn" },
};

const OUTCOMES: Record<string, StatusWords> = {
  done: { text: "done", mark: "good" },
  gave_up: { text: "given up", mark: "bad" },
  failed: { text: "failed: decided by a person", mark: "bad" },
  cancelled: { text: "cancelled", mark: undefined },
};

const VERDICTS: Record<string, StatusWords> = {
  pass: { text: "passed", mark: "good" },
  fail: { text: "failed", mark: "bad" },
  advisory: { text: "advises", mark: "warn" },
};
const WARNED: StatusWords = { text: "warned", mark: "warn" };
const PENDING: StatusWords = { text: "pending", mark: undefined };
const RUNNING: StatusWords = { text: "running", mark: "accent" };
const [CHILDREN, OVERRIDE] = ["children", "override"];

/** Reads the work on a task; null before it has one. */
export function readTaskWork(state: JsonObject, live: Live | null): Work | null {
  const spec = objectOf(state["spec"]);
  const id = text(spec["id"]);
  if (id === null) return null;
  const settings = objectOf(state["settings"]);
  const [used, outcome] = [usedOf(state["usage"]), text(state["outcome"])];
  const pieces = attemptsOf(state, live, id);
  const children = childrenOf(state, live, outcome !== null);
  const repository = text(settings["repository"]) ?? "";
  return {
    shape: "code-task",
    heading: "Attempts at the task",
    listName: "Attempts",
    about: aboutOf(state, spec, id),
    outcome: outcome === null ? null : (OUTCOMES[outcome] ?? null),
    done: children.filter(({ mark }) => mark.text === "done").length,
    total: children.length,
    pieces,
    children,
    used,
    limits: limitsOf(settings["profile"], state["raised"], used),
    roles: rolesOf(state["used"]),
    reviews: [],
    notices: textsOf(state["notices"]),
    commands: commandsOf(state, repository),
    repository,
  };
}

function aboutOf(state: JsonObject, spec: JsonObject, id: string): Work["about"] {
  const branch = text(objectOf(objectOf(objectOf(state["start"])["base"])["at"])["branch"]);
  const facts: [string, string | null][] = [
    ["Task", `${id}: ${text(spec["title"]) ?? ""}`],
    ["Branch", branch],
  ];
  return facts.flatMap(([name, words]) => (words === null ? [] : [{ name, text: words }]));
}

/** Returns the recorded attempts, and the one that is under way. */
function attemptsOf(state: JsonObject, live: Live | null, id: string): Piece[] {
  const recorded = objectsOf(state["attempts"]);
  const current = objectOf(state["attempt"]);
  const last = number(objectOf(recorded.at(-1)?.["past"])["number"]);
  const isOver = text(state["outcome"]) !== null;
  const isOpen = number(current["number"]) > last && !isOver;
  const pieces = recorded.map((line, at) => recordedAttempt(line, state, !isOpen && at === recorded.length - 1));
  return isOpen ? [...pieces, openAttempt(current, state, live, id)] : pieces;
}

function recordedAttempt(line: JsonObject, state: JsonObject, isLast: boolean): Piece {
  const past = objectOf(line["past"]);
  const [decision, rule, reason] = [text(line["decision"]) ?? "", text(line["rule"]) ?? "", text(line["reason"]) ?? ""];
  const override = objectOf(objectOf(state["decision"])["override"]);
  const by = isLast && rule === OVERRIDE ? text(override["by"]) : null;
  const reference = text(line["reference"]);
  return {
    ...piece(String(number(past["number"])), `Attempt ${number(past["number"])}`, past["kind"] === CHILDREN ? "the result of its children" : ""),
    mark: DECISIONS[decision] ?? { text: decision.toLowerCase(), mark: undefined },
    facts: [by === null ? `rule ${rule}` : `decided by ${by}`],
    // The rule is named beside it already.
    reason: reason.startsWith(`${rule}: `) ? reason.slice(rule.length + 2) : reason,
    commit: text(line["commit"]),
    used: usedOf(line["usage"]),
    findings: textsOf(line["findings"]),
    verifiers: isLast ? verifiersOf(state["outputs"]) : [],
    salvage: reference === null || decision === "DONE" ? [] : [reference],
    isCurrent: isLast && decision !== "DONE" && text(state["outcome"]) === null,
  };
}

function openAttempt(current: JsonObject, state: JsonObject, live: Live | null, id: string): Piece {
  const now = runningNow(live, id);
  const nth = number(current["number"]);
  const working = atWork(live);
  const [isCut, problem] = [current["is_spent"] === true, text(current["problem"]) ?? text(current["tampered"])];
  return {
    ...piece(String(nth), `Attempt ${nth}`, current["kind"] === CHILDREN ? "the result of its children" : ""),
    mark: isCut ? { text: "out of budget", mark: "warn" } : live === null || live.isRunning ? RUNNING : { text: live.asked.length > 0 ? "waits" : "stopped", mark: live.asked.length > 0 ? "warn" : undefined },
    facts: [...(number(current["turns"]) > 0 ? [counted(number(current["turns"]), "turn")] : []), ...(now?.action !== undefined ? [now.action] : working !== undefined ? [`${working.node} works`] : [])],
    task: working?.id ?? null,
    reason: problem,
    findings: listOf(state["outputs"]).filter((output) => listOf(objectOf(output)["findings"]).length > 0),
    verifiers: verifiersOf(state["outputs"]),
    isCurrent: true,
  };
}

function verifiersOf(outputs: Json | undefined): Verifier[] {
  return objectsOf(outputs).map((output) => {
    const [verdict, severity] = [text(output["verdict"]), text(output["severity"])];
    const skipped: StatusWords | null = output["skipped"] === undefined || output["skipped"] === null ? null : { text: "skipped", mark: undefined };
    const bySeverity = severity === "error" ? VERDICTS["fail"] : severity === "warning" ? WARNED : VERDICTS["pass"];
    return {
      name: text(output["verifier"]) ?? "",
      stage: text(output["stage"]) ?? "",
      verdict: skipped ?? VERDICTS[verdict ?? ""] ?? bySeverity ?? PENDING,
      ms: number(output["ms"]),
    };
  });
}

function childrenOf(state: JsonObject, live: Live | null, isOver: boolean): Piece[] {
  const children = objectOf(state["children"]);
  const results = objectsOf(state["results"]);
  const joined = number(children["joined"]);
  const isNow = objectOf(state["attempt"])["kind"] === CHILDREN && children["is_over"] !== true && !isOver;
  return objectsOf(children["specs"]).map((spec, at) => {
    const id = text(spec["id"]) ?? "";
    const result = results[at];
    if (result !== undefined) return endedChild(result, children);
    const isRunning = isNow && at >= joined && at < joined + Math.max(number(children["at_once"]), 1);
    const now = runningNow(live, id);
    const brief = isRunning ? live?.tasks.filter(({ node }) => node === "child")[at - joined] : undefined;
    return { ...piece(id, id, text(spec["title"]) ?? ""), mark: isRunning ? RUNNING : isOver ? { text: "not started", mark: undefined } : PENDING, facts: now?.action === undefined ? [] : [now.action], task: brief?.id ?? null, isCurrent: isRunning };
  });
}

function endedChild(result: JsonObject, children: JsonObject): Piece {
  const id = text(result["id"]) ?? "";
  // `GIVE_UP: why`: the mark has the decision.
  const decision = (text(result["decision"]) ?? "").replace(/^[A-Z_]+: /, "");
  const outcome = text(result["outcome"]) ?? "";
  const files = listOf(children["conflicts"]).flatMap((conflict) => (Array.isArray(conflict) && conflict[0] === id ? textsOf(conflict[1]) : []));
  return {
    ...piece(id, id, text(result["title"]) ?? ""),
    mark: OUTCOMES[outcome] ?? { text: outcome, mark: undefined },
    facts: [counted(number(result["attempts"]), "attempt")],
    reason: files.length > 0 ? `its changes conflict with those of others: ${files.join(", ")}` : outcome === "done" ? null : decision,
    commit: text(result["commit"]),
    used: usedOf(result["usage"]),
    findings: textsOf(result["findings"]),
  };
}

function commandsOf(state: JsonObject, repository: string): Work["commands"] {
  const start = objectOf(state["start"]);
  const [before, branch] = [objectOf(objectOf(start["base"])["at"]), text(objectOf(objectOf(start["base"])["at"])["branch"])];
  const now = text(objectOf(objectOf(objectOf(state["attempt"])["base"])["at"])["commit"]);
  const isOver = text(state["outcome"]) !== null;
  if (!isOver || branch === null || now === null || now === before["commit"]) return [];
  return workCommands(repository, branch, start["base"], start["came_from"], state["outcome"] === "done");
}
