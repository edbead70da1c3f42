// A fork before it is made: its state as it is typed in, and the recorded tasks that it runs again. Knows no DOM.

import type { CheckpointEntry } from "../api/run_types";
import type { Json, JsonObject } from "../api/types";
import { isObject } from "./schema";

/** Returns the values as what channels have afterwards: a bare value would be reduced with the one that is there, as that of a node is. */
export function overwrites(values: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(values).map(([channel, value]) => [channel, isOverwrite(value) ? value : { $overwrite: value }]));
}

function isOverwrite(value: Json): boolean {
  return isObject(value) && Object.keys(value).join() === "$overwrite";
}

/** Returns why values cannot be those of a fork; null if they can. `channels` are null if they are not known. */
export function valuesProblem(values: Json | undefined, channels: string[] | null): string | null {
  if (values === undefined) return null;
  if (!isObject(values)) return 'This must be an object of channels, as {"topic": "tides"}.';
  const unknown = channels === null ? undefined : Object.keys(values).find((name) => !channels.includes(name));
  return unknown === undefined ? null : `\`${unknown}\` is no channel: ${(channels ?? []).join(", ")}.`;
}

export interface AgainNode {
  name: string;
  tasks: number;
  /** The entries of their journals. */
  effects: number;
}

/** The tasks that were recorded from a checkpoint on. */
export interface Again extends Omit<AgainNode, "name"> {
  nodes: AgainNode[];
}

/** Returns the tasks of a line that ran at a checkpoint and after it, by their nodes in the order in which these ran first. */
export function tasksAgain(line: CheckpointEntry[], from: number): Again {
  const nodes = new Map<string, AgainNode>();
  const ran = line.filter(({ checkpoint }) => checkpoint >= from).flatMap(({ tasks }) => tasks);
  for (const { node, status, effects } of ran) {
    if (node === "__start__" || (status === "pending" && effects === 0)) continue;
    const known = nodes.get(node) ?? { name: node, tasks: 0, effects: 0 };
    nodes.set(node, { name: node, tasks: known.tasks + 1, effects: known.effects + effects });
  }
  const all = [...nodes.values()];
  return { nodes: all, tasks: all.reduce((sum, { tasks }) => sum + tasks, 0), effects: all.reduce((sum, { effects }) => sum + effects, 0) };
}

/** `2 recorded tasks would run again, with 3 effects and recorded values.` */
export function againText({ tasks, effects }: Again): string {
  if (tasks === 0) return "No task is recorded from there on.";
  return `${tasks === 1 ? "1 recorded task" : `${tasks.toLocaleString("en")} recorded tasks`} would run again${effectsText(effects)}.`;
}

/** `worker × 3, with 2 effects and recorded values`. */
export function nodeText({ name, tasks, effects }: AgainNode): string {
  return `${name}${tasks > 1 ? ` × ${tasks.toLocaleString("en")}` : ""}${effectsText(effects)}`;
}

function effectsText(count: number): string {
  return count === 0 ? "" : count === 1 ? ", with 1 effect or recorded value" : `, with ${count.toLocaleString("en")} effects and recorded values`;
}
