// Comments on lines of a diff, as they travel with an answer: lines `FILE:LINE: text` of its note, and of the feedback that an agent reads.

import type { Json } from "../api/types";
import { isObject } from "./schema";

export interface Comment {
  file: string;
  line: number;
  text: string;
}

/** The names of fields whose text goes to an agent. */
const FEEDBACKS = ["feedback", "note", "text"];

/** Adds comments to a note, and to the feedback of an answer that has one. */
export function withComments(answer: Json, note: string, comments: Comment[]): { answer: Json; note: string } {
  if (comments.length === 0) return { answer, note };
  const lines = comments.map(({ file, line, text }) => `${file}:${line}: ${text.trim().replace(/\s*\n\s*/g, " ")}`).join("\n");
  return { answer: into(answer, lines, 0) ?? answer, note: joined(note, lines) };
}

/** Adds lines to the first feedback; undefined where there is none. */
function into(answer: Json, lines: string, depth: number): Json | undefined {
  if (!isObject(answer) || depth > 3) return undefined;
  for (const [name, value] of Object.entries(answer)) {
    const changed = typeof value === "string" && FEEDBACKS.includes(name) ? joined(value, lines) : into(value, lines, depth + 1);
    if (changed !== undefined) return { ...answer, [name]: changed };
  }
  return undefined;
}

function joined(text: string, lines: string): string {
  return text.trim() === "" ? lines : `${text.trimEnd()}\n${lines}`;
}
