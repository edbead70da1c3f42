// A plan as an overview: its tasks with files, commands and dependencies, as its markdown and the question about it have them. The commands of
// a question are those that an approval allows; those that are read here from markdown may be read otherwise by the program. Knows no DOM.

import { marked, type Token, type Tokens } from "marked";

import type { Json } from "../api/types";
import { isObject, text } from "./schema";

export interface PlanTask {
  id: string;
  title: string;
  commands: string[];
  files: string[];
  needs: string[];
}

export interface Plan {
  title: string | null;
  goal: string | null;
  markdown: string | null;
  tasks: PlanTask[];
  /** The ids of the tasks of each phase; empty if the plan is not phased. */
  phases: string[][];
  warnings: string[];
  /** What prevents that it is executed. */
  problems: string[];
  /** Set if the commands are those that an approval allows. */
  isAsked: boolean;
}

const TASK = /^task\s+(\d+[a-z]{0,2}(?:\.\d+[a-z]{0,2})*)\s*[:：]\s*(.*)$/i;
const LABEL = /^\**\s*(depends on|files|verify|verification|verify commands)\s*:?\s*\**\s*:?\s*/i;

/** Returns whether a payload is the question about a plan: it has tasks with numbers and titles. */
export function isPlanQuestion(value: Json): boolean {
  if (!isObject(value)) return false;
  const tasks = value["tasks"];
  return Array.isArray(tasks) && tasks.every((task) => isObject(task) && typeof task["id"] === "string" && typeof task["title"] === "string") && "warnings" in value;
}

/** Returns the plan that a question asks about, with what its markdown adds. */
export function planOfQuestion(value: Json, markdown: string | null): Plan {
  const read = markdown === null ? null : planOf(markdown);
  const asked = isObject(value) ? value : {};
  const tasks = (Array.isArray(asked["tasks"]) ? asked["tasks"] : []).filter(isObject).map((task): PlanTask => {
    const id = text(task["id"]) ?? "";
    const same = read?.tasks.find((other) => other.id === id);
    return { id, title: text(task["title"]) ?? "", commands: texts(task["verify"]), files: same?.files ?? [], needs: same?.needs ?? [] };
  });
  return {
    title: text(asked["title"]) ?? read?.title ?? null,
    goal: text(asked["goal"]) ?? read?.goal ?? null,
    markdown,
    tasks,
    phases: (Array.isArray(asked["phases"]) ? asked["phases"] : []).map(texts),
    warnings: texts(asked["warnings"]),
    problems: texts(asked["problems"]),
    isAsked: true,
  };
}

/** Reads a plan's markdown as far as an overview needs it. */
export function planOf(markdown: string): Plan {
  const plan: Plan = { title: null, goal: null, markdown, tasks: [], phases: [], warnings: [], problems: [], isAsked: false };
  let [task, level]: [PlanTask | null, number] = [null, 0];
  let field: Field | null = null;
  for (const token of marked.lexer(withoutFront(markdown))) {
    if (token.type === "heading") {
      const { depth, text: words } = token as Tokens.Heading;
      const [, id, title] = TASK.exec(plainText(words)) ?? [];
      if (id !== undefined && depth > 1) {
        plan.tasks.push((task = { id: id.toLowerCase(), title: title ?? "", commands: [], files: [], needs: [] }));
        [level, field] = [depth, null];
      } else if (task !== null && depth <= level) [task, field] = [null, null];
      else field = fieldOf(words);
      if (depth === 1 && plan.title === null) plan.title = plainText(words);
      continue;
    }
    if (token.type === "paragraph" && plan.goal === null) plan.goal = /^\*\*Goal:?\*\*:?\s*([^\n]+)/i.exec(token.raw)?.[1] ?? null;
    if (task !== null) field = readBlock(task, token, field);
  }
  return plan;
}

type Field = "needs" | "files" | "commands";

/** Reads a block of a task's section; returns the field whose values go on in the next block. */
function readBlock(task: PlanTask, token: Token, field: Field | null): Field | null {
  if (token.type === "space") return field;
  if (token.type === "code") {
    if (field === "commands") task.commands.push(...commandsOf((token as Tokens.Code).text));
    return null;
  }
  if (token.type === "list") {
    if (field !== null) for (const item of (token as Tokens.List).items) add(task, field, item.text);
    else for (const item of (token as Tokens.List).items) addLabelled(task, item.text);
    return field;
  }
  if (token.type !== "paragraph" && token.type !== "text") return null;
  let last: Field | null = null;
  for (const line of token.raw.split("\n")) {
    const next = addLabelled(task, line);
    if (next !== undefined) last = next;
    else if (last !== null && line.trim() !== "") add(task, last, line);
  }
  return last;
}

/** Reads `**Files:** a, b`; returns its field, or undefined for a line without a label. */
function addLabelled(task: PlanTask, line: string): Field | undefined {
  const label = LABEL.exec(line);
  const field = label === null ? null : fieldOf(label[1] ?? "");
  if (label === null || field === null || !label[0].includes(":")) return undefined;
  const rest = line.slice(label[0].length);
  if (rest.trim() !== "") add(task, field, rest);
  return field;
}

function add(task: PlanTask, field: Field, words: string): void {
  const code = [...words.matchAll(/`+([^`]+)`+/g)].map((match) => match[1] ?? "");
  if (field === "needs") task.needs.push(...(words.match(/\d+[a-z]{0,2}(?:\.\d+)*/gi) ?? []));
  else if (field === "files") task.files.push(...(code.length > 0 ? code : words.split(",").map((part) => part.trim()).filter((part) => part !== "")));
  else task.commands.push(...code.slice(0, 1));
}

function fieldOf(words: string): Field | null {
  const word = plainText(words).toLowerCase().replace(/:$/, "");
  if (word === "depends on") return "needs";
  if (word === "files") return "files";
  return /^verif(y|ication)( commands)?$/.test(word) ? "commands" : null;
}

function commandsOf(block: string): string[] {
  const lines = block.replace(/\s*\\\n\s*/g, " ").split("\n").map((line) => line.trim()).filter((line) => line !== "" && !line.startsWith("#"));
  const prompts = lines.filter((line) => line.startsWith("$ "));
  return prompts.length > 0 ? prompts.map((line) => line.slice(2)) : lines;
}

function withoutFront(markdown: string): string {
  return markdown.replace(/^---\n[\s\S]*?\n---\n/, "");
}

function plainText(words: string): string {
  return words.replace(/[*_`]/g, "").trim();
}

function texts(value: Json | undefined): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
}
