// A graph that is drawn once and shows what happened in its nodes. Arrow keys lead from node to node. Knows no run and no request.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import { isDiverging } from "../fold/divergence";
import { showBoxes, type GraphNode, type NodeState, type Topology } from "../fold/graph";
import type { Direction, Layout, Place } from "../fold/layout";
import { nearest } from "../fold/nearest";
import { Button } from "./button";
import { BoxShape, EdgeShape, NodeShape } from "./graph_parts";
import { useKeys, type KeyAction } from "./keys";
import { useLayout } from "./graph_layout";
import { useGrowth } from "./growth";
import { handleZoomKey, usePanZoom, zoomIn, zoomOut } from "./pan_zoom";
import "./graph_view.css";

interface GraphProps {
  topology: Topology;
  states: ReadonlyMap<string, NodeState>;
  next: ReadonlySet<string>;
  /** The ids of the nodes that differ from what was recorded. */
  diverging: ReadonlySet<string>;
  onSelect: (id: string) => void;
  onOpenBox: (id: string) => void;
}

/** The width below which a graph is drawn from top to bottom. */
const NARROW = 560;
const [LOWEST, HIGHEST] = [120, 420];
/** Nodes that are added to the drawing at once, and edges for each of them. */
const [NODES, EDGES] = [60, 2];

/** For the list of keys; the drawing handles them while it has the focus. */
const KEYS: KeyAction[] = [
  { key: "+ - 0", about: "in the graph: larger, smaller, all of it" },
  { key: "ArrowLeft ArrowRight ArrowUp ArrowDown", about: "in the graph: to the next node" },
  { key: "Enter", about: "in the graph: open the node" },
];

export function GraphView({ topology, states, next, diverging, onSelect, onOpenBox }: GraphProps) {
  useKeys(KEYS);
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const [width, setWidth] = useState<number | null>(null);
  const [active, setActive] = useState<string | null>(null);
  const [frame, svg, stage] = [useRef<HTMLDivElement>(null), useRef<SVGSVGElement>(null), useRef<SVGGElement>(null)];
  useEffect(() => setWidth(frame.current?.clientWidth ?? 1000), []);
  const shown = useMemo(() => showBoxes(topology, open), [topology, open]);
  const direction: Direction | null = width === null ? null : width < NARROW ? "TB" : "LR";
  const layout = useLayout(shown, direction);
  const last = useRef<{ layout: Layout; shown: Topology } | null>(null);
  // While an opened box is laid out, the graph is shown as it was.
  if (layout !== null) last.current = { layout, shown };
  const drawn = last.current;
  const places = useMemo(() => new Map(drawn === null ? [] : [...drawn.layout.nodes, ...drawn.layout.boxes].map((place) => [place.id, place])), [drawn?.layout]);
  const nodes = useMemo(() => new Map([...topology.nodes, ...topology.boxes].map((node) => [node.id, node])), [topology]);
  const view = usePanZoom(svg, stage, drawn?.layout ?? null, () => startPlace(drawn?.layout ?? null, states));
  const grown = useGrowth(drawn?.layout ?? null, drawn === null ? 0 : Math.max(drawn.shown.nodes.length, drawn.layout.edges.length / EDGES), NODES);
  const first = drawn?.shown.nodes.find(({ kind }) => kind === "node" || kind === "box")?.id ?? null;
  const tab = active !== null && places.has(active) ? active : first;

  const activate = (id: string): void => {
    if (nodes.get(id)?.kind !== "box") return onSelect(id);
    setOpen((was) => new Set(was.has(id) ? [...was].filter((one) => one !== id) : [...was, id]));
    if (!open.has(id)) onOpenBox(id);
  };
  const focus = (id: string): void => {
    const place = places.get(id);
    if (place !== undefined) view.reveal(place);
    setActive(id);
    svg.current?.querySelector<SVGGElement>(`[data-id="${CSS.escape(id)}"]`)?.focus({ preventScroll: true });
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const id = idOf(event.target);
    const isPress = (event.key === "Enter" || event.key === " ") && id !== null;
    const target = id === null ? null : nearest([...places.values()].filter((place) => isButton(nodes.get(place.id))), id, event.key);
    if (isPress) activate(id);
    else if (target !== null) focus(target);
    else if (!handleZoomKey(event.key, view)) return;
    event.preventDefault();
  };
  return (
    <div class="graph" ref={frame}>
      {drawn === null ? (
        <p class="graph-wait soft" role="status">
          Drawing the graph…
        </p>
      ) : (
        <>
          <svg
            ref={svg}
            class="graph-drawing"
            role="group"
            aria-label="Graph"
            width="100%"
            height={heightFor(drawn.layout, width ?? 0)}
            onClick={(event) => void ((id) => id !== null && activate(id))(idOf(event.target))}
            onKeyDown={onKeyDown}
            onFocusIn={(event) => setActive(idOf(event.target))}
          >
            <Arrow />
            <g ref={stage}>
              {drawn.shown.boxes.map((node) => shape(BoxShape, node, places.get(node.id), { states, next, diverging }, tab))}
              {drawn.layout.edges.slice(0, EDGES * grown).map((edge) => (
                <EdgeShape key={`${edge.source}\n${edge.target}`} edge={edge} />
              ))}
              {drawn.shown.nodes.slice(0, grown).map((node) => shape(NodeShape, node, places.get(node.id), { states, next, diverging }, tab))}
            </g>
          </svg>
          <div class="graph-tools" role="toolbar" aria-label="View of the graph">
            <Button aria-label="Zoom in" title="Zoom in (+)" onClick={() => zoomIn(view)}>
              +
            </Button>
            <Button aria-label="Zoom out" title="Zoom out (-)" onClick={() => zoomOut(view)}>
              −
            </Button>
            <Button aria-label="Fit" title="Show all (0)" onClick={view.fit}>
              ⤢
            </Button>
          </div>
        </>
      )}
    </div>
  );
}

function shape(Shape: typeof NodeShape, node: GraphNode, place: Place | undefined, { states, next, diverging }: Pick<GraphProps, "states" | "next" | "diverging">, tab: string | null) {
  if (place === undefined) return null;
  return <Shape key={node.id} node={node} place={place} state={states.get(node.id)} isNext={next.has(node.id)} isDiverging={isDiverging(node.id, diverging)} isActive={tab === node.id} />;
}

function isButton(node: GraphNode | undefined): boolean {
  return node?.kind === "node" || node?.kind === "box";
}

function idOf(target: EventTarget | null): string | null {
  return (target as Element | null)?.closest?.("[data-id]")?.getAttribute("data-id") ?? null;
}

function heightFor({ width, height }: Layout, room: number): number {
  const scale = Math.min(room / Math.max(width, 1), 1);
  return Math.min(Math.max(Math.ceil(height * scale) + 24, LOWEST), HIGHEST);
}

/** What a graph that is too large to be read as a whole shows at first: where it runs, waits or failed, else its start. */
function startPlace(layout: Layout | null, states: ReadonlyMap<string, NodeState>): Place | null {
  if (layout === null) return null;
  const open = layout.nodes.find(({ id }) => ["running", "waits", "failed"].includes(states.get(id) ?? ""));
  return open ?? layout.nodes.findLast(({ id }) => states.get(id) === "ran") ?? layout.nodes[0] ?? null;
}

function Arrow() {
  return (
    <defs>
      <marker id="graph-arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto-start-reverse">
        <path class="graph-arrow" d="M0 0.5L7.5 4L0 7.5Z" />
      </marker>
    </defs>
  );
}
