// A graph as it is drawn: nodes, boxes of subgraphs that are open or closed, and what happened in each node. Knows no layout and no DOM.

import type { Brief, CheckpointEntry, RunningTask } from "../api/run_types";
import type { Drawing } from "../api/types";

export type NodeState = "ran" | "running" | "waits" | "failed";
export type NodeKind = "node" | "box" | "start" | "end";

export interface GraphNode {
  /** The nodes on the way down to it: `child:inner`. */
  id: string;
  name: string;
  /** The box that it is in; null in the root graph. */
  parent: string | null;
  kind: NodeKind;
}

export interface GraphEdge {
  source: string;
  target: string;
  isConditional: boolean;
  label: string | null;
}

/** A graph, or what of it is shown. Open boxes are in `boxes`, closed ones are nodes. */
export interface Topology {
  nodes: GraphNode[];
  boxes: GraphNode[];
  edges: GraphEdge[];
}

const [START, END] = ["__start__", "__end__"];

/** Reads a drawing with all its subgraphs; their boxes are made of the ids of the nodes in them. */
export function readDrawing({ nodes, edges }: Drawing): Topology {
  const read = nodes.map(({ id, data }) => readNode(id, data));
  const boxes = new Map<string, GraphNode>();
  for (const { parent } of read) addBoxes(parent, boxes);
  const drawn = edges.map(({ source, target, conditional, data }) => ({ source, target, isConditional: conditional === true, label: data ?? null }));
  return { nodes: read, boxes: [...boxes.values()], edges: drawn };
}

function readNode(id: string, data: Drawing["nodes"][number]["data"]): GraphNode {
  const named = data !== null && typeof data === "object" && !Array.isArray(data) ? data["name"] : undefined;
  const name = typeof named === "string" && id.endsWith(named) ? named : id.slice(id.lastIndexOf(":") + 1);
  const parent = id === name ? null : id.slice(0, -name.length - 1);
  return { id, name, parent, kind: name === START ? "start" : name === END ? "end" : "node" };
}

function addBoxes(id: string | null, boxes: Map<string, GraphNode>): void {
  if (id === null || boxes.has(id)) return;
  const at = id.lastIndexOf(":");
  const parent = at < 0 ? null : id.slice(0, at);
  addBoxes(parent, boxes);
  boxes.set(id, { id, name: id.slice(at + 1), parent, kind: "box" });
}

/** Returns what is shown if the boxes in `open` are: the others are nodes, and edges lead to what is shown. */
export function showBoxes(whole: Topology, open: ReadonlySet<string>): Topology {
  const boxes = new Map(whole.boxes.map((box) => [box.id, box]));
  const isOpen = (id: string | null): boolean => {
    const box = id === null ? undefined : boxes.get(id);
    return id === null || (box !== undefined && open.has(id) && isOpen(box.parent));
  };
  const shown = (id: string, parent: string | null): string => (isOpen(parent) ? id : shown(parent ?? "", boxes.get(parent ?? "")?.parent ?? null));
  const all = [...whole.nodes, ...whole.boxes];
  const places = new Map(all.map(({ id, parent }) => [id, shown(id, parent)]));
  const isShown = ({ id, parent }: GraphNode): boolean => isOpen(parent) && places.get(id) === id;
  const closed = whole.boxes.filter((box) => isShown(box) && !isOpen(box.id));
  return {
    nodes: [...whole.nodes.filter(isShown), ...closed],
    boxes: whole.boxes.filter((box) => isOpen(box.id)),
    edges: moveEdges(whole.edges, places),
  };
}

function moveEdges(edges: GraphEdge[], places: Map<string, string>): GraphEdge[] {
  const moved = new Map<string, GraphEdge>();
  for (const edge of edges) {
    const [source, target] = [places.get(edge.source) ?? edge.source, places.get(edge.target) ?? edge.target];
    if (source === target && edge.source !== edge.target) continue;
    const key = `${source}\n${target}`;
    const known = moved.get(key);
    const label = known === undefined ? edge.label : known.label === edge.label ? edge.label : [known.label, edge.label].filter((text) => text !== null).join(", ");
    moved.set(key, { source, target, isConditional: edge.isConditional && known?.isConditional !== false, label });
  }
  return [...moved.values()];
}

/** A name for a topology: the same one is laid out the same way. */
export function topologyKey({ nodes, boxes, edges }: Topology): string {
  return JSON.stringify([nodes.map(({ id }) => id), boxes.map(({ id }) => id), edges.map(({ source, target, label }) => [source, target, label])]);
}

/** The id in a drawing of the node that a task is of. */
export function nodeOfTask({ node, path }: Pick<Brief, "node" | "path">): string {
  return (path ?? [node]).join(":");
}

/** The position of a run, for the states of its nodes. */
export interface Position {
  /** The checkpoints on the way to what is shown, oldest first, the last with its tasks as they are. */
  line: CheckpointEntry[];
  /** Set if the last checkpoint is the newest one: its tasks run, wait or failed. */
  isNewest: boolean;
  isRunning: boolean;
  running: RunningTask[];
}

const RANK: NodeState[] = ["running", "waits", "failed", "ran"];

/** Returns what happened in each node, by its id. Of several tasks of a node the newest superstep counts, and in it what needs most attention. */
export function nodeStates({ line, isNewest, isRunning, running }: Position, inside: CheckpointEntry[] = []): Map<string, NodeState> {
  const states = new Map<string, NodeState>();
  const runs = new Set(running.map(({ node }) => node.replaceAll("/", ":")));
  const last = isNewest ? undefined : line.at(-1);
  for (const checkpoint of [...line, ...inside]) {
    if (checkpoint === last) continue;
    for (const [id, state] of statesAt(checkpoint, isRunning, runs)) states.set(id, state);
  }
  if (isNewest && isRunning) for (const id of runs) states.set(id, "running");
  return states;
}

/** States of checkpoints whose tasks have ended: of a long run only the newest ones are looked at again. */
const madeStates = new WeakMap<CheckpointEntry, Map<string, NodeState>>();

function statesAt(checkpoint: CheckpointEntry, isRunning: boolean, runs: ReadonlySet<string>): Map<string, NodeState> {
  const made = madeStates.get(checkpoint);
  if (made !== undefined) return made;
  const found = new Map<string, NodeState>();
  for (const task of checkpoint.tasks) {
    const id = nodeOfTask(task);
    const state = stateOf(task, isRunning && (runs.size === 0 || runs.has(id)));
    const known = found.get(id);
    if (state !== null && (known === undefined || RANK.indexOf(state) < RANK.indexOf(known))) found.set(id, state);
  }
  if (checkpoint.tasks.every(({ status }) => status !== "pending")) madeStates.set(checkpoint, found);
  return found;
}

export function stateOf({ status }: Pick<Brief, "status">, isRunning: boolean): NodeState | null {
  switch (status) {
    case "done":
      return "ran";
    case "failed":
      return "failed";
    case "interrupted":
    case "waiting":
    case "awaiting-signal":
      return "waits";
    default:
      return isRunning ? "running" : null;
  }
}

/** The nodes that run next from a checkpoint of the past. */
export function nextNodes({ line, isNewest }: Position): Set<string> {
  const last = line.at(-1);
  return new Set(isNewest || last === undefined ? [] : last.tasks.map(nodeOfTask));
}

export interface FoundTask {
  checkpoint: number;
  task: Brief;
  /** The key of the task in whose subgraph it is; null in the root graph. */
  inside: string | null;
}

/** Returns the newest task of a node, in the root graph or in a task whose inside is known by its key. Of several, one that is not done. */
export function findTask(id: string, line: CheckpointEntry[], inside: ReadonlyMap<string, CheckpointEntry[]>): FoundTask | null {
  const own = findIn(id, line, null);
  if (own !== null) return own;
  const found = [...inside].flatMap(([key, list]) => findIn(id, list, key) ?? []);
  return found.reduce<FoundTask | null>((newest, one) => (newest === null || one.checkpoint > newest.checkpoint ? one : newest), null);
}

function findIn(id: string, line: CheckpointEntry[], inside: string | null): FoundTask | null {
  for (let at = line.length - 1; at >= 0; at -= 1) {
    const { checkpoint, tasks } = line[at] as CheckpointEntry;
    const own = tasks.filter((task) => nodeOfTask(task) === id);
    const [first] = own;
    if (first !== undefined) return { checkpoint, task: own.find(({ status }) => status !== "done") ?? first, inside };
  }
  return null;
}
