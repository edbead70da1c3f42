// Findings of reviewers and verifiers in one form: comments of a review, findings of verifiers, and the lines in which a question names them.
// Knows no DOM.

import type { Json, JsonObject } from "../api/types";
import { isObject, text } from "./schema";

export type Grade = "bad" | "warn" | "info";

export interface Finding {
  grade: Grade;
  /** In the words of whoever found it: `critical`, `warning`. */
  severity: string | null;
  /** `src/main.rs:3` or `src/main.rs:3-5`. */
  place: string | null;
  /** The verifier or reviewer. */
  source: string | null;
  kind: string | null;
  text: string;
  why: string | null;
  /** What to do about it. */
  fix: string | null;
  /** The excerpt that shows it. */
  excerpt: string | null;
  /** Its identity across attempts. */
  mark: string | null;
}

const GRADES: Record<string, Grade> = { critical: "bad", error: "bad", major: "bad", high: "bad", blocker: "bad", warning: "warn", minor: "warn", medium: "warn" };
/** What a question writes in the place of those it leaves out. */
const MORE = /^and \d+ more$/;
/** `[build] error src/main.rs:3: mismatched types (0badcafe)`, as questions name findings of verifiers. */
const LINE = /^\[([^\]]+)\] (error|warning|info)(?: (\S+?))?: ([\s\S]*?)(?: \(([0-9a-f]{4,32})\))?$/;

/** Returns findings, the grave ones first. */
export function findingsOf(list: Json[]): Finding[] {
  const order: Grade[] = ["bad", "warn", "info"];
  return list.flatMap(finding).map((found, at) => ({ found, at })).sort((a, b) => order.indexOf(a.found.grade) - order.indexOf(b.found.grade) || a.at - b.at).map(({ found }) => found);
}

/** Returns whether a list is one of findings: each has a text and a severity, or is a line that names one. */
export function looksLikeFindings(list: Json[]): boolean {
  const named = list.filter((item, at) => !(at === list.length - 1 && typeof item === "string" && MORE.test(item)));
  return named.length > 0 && named.every((item) => (typeof item === "string" ? LINE.test(item) : isObject(item) && (Array.isArray(item["findings"]) || Array.isArray(item["comments"]) || wordsOf(item) !== null) && ("severity" in item || "evidence" in item || "fingerprint" in item || "approved" in item)));
}

function finding(item: Json): Finding[] {
  if (typeof item === "string") return [ofLine(item)];
  if (!isObject(item)) return [];
  // The whole output of a verifier, or a review: what it found, with its name.
  const inner = item["findings"] ?? item["comments"];
  if (Array.isArray(inner) && inner.length === 0) return [ofObject({ ...item, text: first(item, "summary", "verdict") ?? (item["approved"] === true ? "approved" : "no findings") })];
  if (Array.isArray(inner)) return inner.flatMap(finding).map((found) => ({ ...found, source: found.source ?? first(item, "verifier", "reviewer", "role") }));
  return [ofObject(item)];
}

function ofObject(item: JsonObject): Finding {
  const severity = text(item["severity"]) === "none" ? null : first(item, "severity", "level");
  const shown = isObject(item["evidence"]) ? item["evidence"] : item;
  const mark = first(item, "fingerprint", "id");
  return {
    grade: GRADES[severity?.toLowerCase() ?? ""] ?? "info",
    severity,
    place: placeOf(shown),
    source: first(item, "verifier", "reviewer", "source", "stakeholder"),
    kind: first(item, "type", "kind", "rule"),
    text: wordsOf(item) ?? JSON.stringify(item),
    why: first(item, "why", "reason"),
    fix: first(item, "fix", "suggestion"),
    excerpt: first(shown, "log", "excerpt", "quote"),
    mark: mark !== null && mark.length > 12 ? mark.slice(0, 8) : mark,
  };
}

function ofLine(line: string): Finding {
  const [, source = null, severity = null, place = null, words = line, mark = null] = LINE.exec(line) ?? [];
  return { grade: GRADES[severity ?? ""] ?? "info", severity, place, source, kind: null, text: words, why: null, fix: null, excerpt: null, mark };
}

function placeOf(item: JsonObject): string | null {
  const file = first(item, "file", "path");
  if (file === null) return null;
  const line = item["lines"] ?? item["line"];
  return typeof line === "number" || typeof line === "string" ? `${file}:${line}` : file;
}

function wordsOf(item: JsonObject): string | null {
  return first(item, "issue", "message", "text", "title", "description");
}

function first(item: JsonObject, ...names: string[]): string | null {
  for (const name of names) {
    const words = text(item[name]);
    if (words !== null && words.trim() !== "") return words;
  }
  return null;
}
