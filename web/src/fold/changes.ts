// The difference of two checkpoints as rows that people read. Knows no DOM.

import type { ChannelChange, DiffQuestion, PatchEdit, StateDiff } from "../api/debug_types";
import type { Json } from "../api/types";
import { pointerParts } from "./json_patch";

export interface ChangeRow {
  /** The place: `items › 3 › name`. */
  place: string;
  kind: "added" | "removed" | "changed" | "secret";
  before: Json | undefined;
  after: Json | undefined;
}

export interface ChangeGroup {
  /** The subgraphs on the way down; none for the graph itself. */
  within: string[];
  channel: string;
  rows: ChangeRow[];
}

/** Returns the changes of a difference and of the subgraphs in it, in order. */
export function changeGroups(diff: StateDiff, within: string[] = []): ChangeGroup[] {
  const own = diff.channels.map((channel) => ({ within, channel: channel.channel, rows: rowsOf(channel) }));
  const inner = diff.subgraphs.flatMap(({ node, diff: inside }) => (inside === undefined ? [] : changeGroups(inside, [...within, node])));
  return [...own, ...inner];
}

/** Returns the subgraphs that only one of the two checkpoints has. */
export function subgraphNotes(diff: StateDiff): string[] {
  return diff.subgraphs.flatMap(({ node, began, ended, diff: inside }) => {
    if (began !== undefined) return [`${node} has begun (checkpoint ${began.checkpoint})`];
    if (ended !== undefined) return [`${node} has ended (checkpoint ${ended.checkpoint})`];
    return inside === undefined ? [] : subgraphNotes(inside).map((note) => `${node} › ${note}`);
  });
}

/** Returns the questions that came and went. */
export function questionNotes({ asked, gone }: StateDiff): { text: string; kind: "added" | "removed" }[] {
  const say = (question: DiffQuestion): string => `${question.name.replace(/_/g, " ")} by ${question.node}`;
  return [...gone.map((question) => ({ text: say(question), kind: "removed" as const })), ...asked.map((question) => ({ text: say(question), kind: "added" as const }))];
}

/** Returns whether nothing differs but the numbers. */
export function isSame(diff: StateDiff): boolean {
  return changeGroups(diff).length === 0 && diff.asked.length === 0 && diff.gone.length === 0 && subgraphNotes(diff).length === 0 && diff.from.next.join() === diff.to.next.join();
}

function rowsOf({ channel, change, patch }: ChannelChange): ChangeRow[] {
  if (change === "secret") return [{ place: channel, kind: "secret", before: undefined, after: undefined }];
  return patch.map((edit) => row(edit));
}

function row(edit: PatchEdit): ChangeRow {
  const place = placeText(edit.path);
  switch (edit.op) {
    case "add":
      return { place, kind: "added", before: undefined, after: edit.value };
    case "remove":
      return { place, kind: "removed", before: edit.old, after: undefined };
    case "replace":
      return { place, kind: "changed", before: edit.old, after: edit.value };
  }
}

/** Returns a JSON pointer as words. */
export function placeText(path: string): string {
  return pointerParts(path).map((part) => (part === "-" ? "end" : part)).join(" › ");
}
