// Where the nodes, boxes and edges of a graph are drawn: dagre, once for each topology. Knows no state and no DOM.

import { Graph, layout } from "@dagrejs/dagre";

import type { GraphNode, Topology } from "./graph";
import { cut, textWidth } from "./node_name";

export interface Place {
  id: string;
  /** The upper left corner. */
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface EdgePlace {
  source: string;
  target: string;
  isConditional: boolean;
  /** The `d` of a path. */
  path: string;
  label: { text: string; x: number; y: number } | null;
}

export interface Layout {
  x: number;
  y: number;
  width: number;
  height: number;
  nodes: Place[];
  boxes: Place[];
  edges: EdgePlace[];
}

export type Direction = "LR" | "TB";

const MARGIN = 12;
/** The height of a node; from top to bottom, graphs are drawn on phones, where a thumb has to hit it. */
const NODE_HEIGHT = { LR: 36, TB: 44 };
/** The room below a node for an edge that leads back to it. */
const LOOP = 40;
/** The room above the nodes in a box for its heading, and below them. */
const HEADING = { LR: 34, TB: 16 };
const FOOT = 10;
/** Beyond this many edges, the exact ranks take seconds. */
const MANY_EDGES = 120;

/** Lays a graph out. A graph of 300 nodes takes a second: see `parts/graph_layout.ts`. */
export function layOut(topology: Topology, direction: Direction): Layout {
  const hasLoops = topology.edges.some(isLoop);
  const graph = new Graph({ compound: true, multigraph: true });
  const ranker = topology.edges.length > MANY_EDGES ? "tight-tree" : "network-simplex";
  graph.setGraph({ rankdir: direction, nodesep: hasLoops ? LOOP + 16 : topology.boxes.length > 0 ? 36 : 20, ranksep: topology.boxes.length > 0 ? 48 : 36, edgesep: 12, marginx: MARGIN, marginy: MARGIN, ranker });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const box of topology.boxes) graph.setNode(box.id, {});
  for (const node of topology.nodes) graph.setNode(node.id, size(node, NODE_HEIGHT[direction]));
  for (const { id, parent } of [...topology.boxes, ...topology.nodes]) if (parent !== null) graph.setParent(id, parent);
  topology.edges.forEach(({ source, target, label }, at) => source !== target && graph.setEdge(source, target, label === null ? {} : { width: cut(label).length * 6.4, height: 14, labelpos: "c" }, String(at)));
  layout(graph);
  return read(graph, topology, HEADING[direction]);
}

function size({ name, kind }: GraphNode, height: number): { width: number; height: number } {
  if (kind === "start" || kind === "end") return { width: 22, height: 22 };
  return { width: Math.max(64, Math.round(textWidth(cut(name))) + (kind === "box" ? 52 : 44)), height };
}

function read(graph: Graph, topology: Topology, heading: number): Layout {
  const place = (id: string): Place => {
    const { x = 0, y = 0, width = 0, height = 0 } = graph.node(id) as { x?: number; y?: number; width?: number; height?: number };
    return { id, x: x - width / 2, y: y - height / 2, width, height };
  };
  const { width = 0, height = 0 } = graph.graph() as { width?: number; height?: number };
  const edges = topology.edges.map(({ source, target, isConditional, label }, at): EdgePlace => {
    if (source === target) return { source, target, isConditional, ...loop(place(source), label) };
    const { points = [], x, y } = graph.edge(source, target, String(at)) as { points?: Point[]; x?: number; y?: number };
    const shown = label === null || x === undefined || y === undefined ? null : { text: cut(label), x, y };
    return { source, target, isConditional, path: curve(points), label: shown };
  });
  const boxes = topology.boxes.map(({ id }) => roomy(place(id), heading));
  const loops = topology.edges.filter(isLoop).map(({ source }) => place(source)).map((one) => ({ ...one, height: one.height + LOOP }));
  return { ...bounds({ width, height }, [...boxes, ...loops]), nodes: topology.nodes.map(({ id }) => place(id)), boxes, edges };
}

function isLoop({ source, target }: Topology["edges"][number]): boolean {
  return source === target;
}

/** Returns the way of an edge that leads back to its node, below it. */
function loop({ x, y, width, height }: Place, label: string | null): Pick<EdgePlace, "path" | "label"> {
  const [left, right, top, bottom] = [round(x + width * 0.3), round(x + width * 0.7), round(y + height), round(y + height + LOOP)];
  const shown = label === null ? null : { text: cut(label), x: x + width / 2, y: y + height + LOOP * 0.75 };
  return { path: `M${right} ${top}C${right + 8} ${bottom} ${left - 8} ${bottom} ${left} ${top}`, label: shown };
}

function roomy({ y, height, ...place }: Place, heading: number): Place {
  return { ...place, y: y - heading, height: height + heading + FOOT };
}

/** Returns the part of the plane in which all of a drawing is. */
function bounds({ width, height }: { width: number; height: number }, boxes: Place[]): Pick<Layout, "x" | "y" | "width" | "height"> {
  const [x, y] = [Math.min(0, ...boxes.map((box) => box.x - MARGIN)), Math.min(0, ...boxes.map((box) => box.y - MARGIN))];
  const [right, bottom] = [Math.max(width, ...boxes.map((box) => box.x + box.width + MARGIN)), Math.max(height, ...boxes.map((box) => box.y + box.height + MARGIN))];
  return { x, y, width: right - x, height: bottom - y };
}

interface Point {
  x: number;
  y: number;
}

/** Returns a smooth path through the middles between points. */
export function curve(points: Point[]): string {
  const [first, ...others] = points.map(({ x, y }) => ({ x: round(x), y: round(y) }));
  if (first === undefined) return "";
  const parts = [`M${first.x} ${first.y}`];
  others.forEach((point, at) => {
    const next = others[at + 1];
    if (next === undefined) parts.push(`L${point.x} ${point.y}`);
    else parts.push(`${at === 0 ? `L${middle(first, point)} ` : ""}Q${point.x} ${point.y} ${middle(point, next)}`);
  });
  return parts.join("");
}

function middle(a: Point, b: Point): string {
  return `${round((a.x + b.x) / 2)} ${round((a.y + b.y) / 2)}`;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
