// The nodes, boxes and edges of a drawing as elements of SVG. Knows no view.

import type { GraphNode, NodeState } from "../fold/graph";
import type { EdgePlace, Place } from "../fold/layout";
import { cut, textWidth } from "../fold/node_name";

interface NodeProps {
  node: GraphNode;
  place: Place;
  state: NodeState | undefined;
  isNext: boolean;
  /** Set if it differs from what was recorded. */
  isDiverging: boolean;
  /** Whether Tab leads to it. */
  isActive: boolean;
}

/** A node as a button. A closed box is one too: it opens. */
export function NodeShape({ node, place: { x, y, width, height }, state, isNext, isDiverging, isActive }: NodeProps) {
  if (node.kind === "start" || node.kind === "end") return <Terminal kind={node.kind} x={x + width / 2} y={y + height / 2} />;
  return (
    <g
      class="graph-node"
      role="button"
      tabindex={isActive ? 0 : -1}
      aria-label={nodeName(node, state)}
      aria-expanded={node.kind === "box" ? "false" : undefined}
      data-id={node.id}
      data-state={state}
      data-next={isNext ? "" : undefined}
      data-diverges={isDiverging ? "" : undefined}
      aria-description={isDiverging ? "differs from what was recorded" : undefined}
      transform={`translate(${x} ${y})`}
    >
      {cut(node.name) !== node.name && <title>{node.name}</title>}
      {node.kind === "box" && <rect class="graph-shape graph-back" x={4} y={4} width={width} height={height} rx={8} />}
      <rect class="graph-shape" width={width} height={height} rx={8} />
      <StateIcon state={state} x={17} y={height / 2} />
      <text x={state === undefined ? width / 2 : (width + 22) / 2} y={height / 2} dy="0.35em" text-anchor="middle">
        {cut(node.name)}
      </text>
      {isDiverging && <DivergenceSign x={width} />}
    </g>
  );
}

/** A sign at the corner of a node, so that a divergence is not said by colour alone. */
function DivergenceSign({ x }: { x: number }) {
  return (
    <g class="graph-diverges" aria-hidden="true" transform={`translate(${x - 2} 2)`}>
      <circle r={9} />
      <text dy="0.35em" text-anchor="middle">
        ≠
      </text>
    </g>
  );
}

/** An open box, whose heading closes it. */
export function BoxShape({ node, place: { x, y, width, height }, state, isActive }: NodeProps) {
  return (
    <g class="graph-box" data-state={state} transform={`translate(${x} ${y})`}>
      <rect class="graph-frame" width={width} height={height} rx={10} />
      <g class="graph-node graph-heading" role="button" tabindex={isActive ? 0 : -1} aria-label={nodeName(node, state)} aria-expanded="true" data-id={node.id} data-state={state}>
        <title>{`Close ${node.name}`}</title>
        <rect class="graph-shape" width={Math.min(width, textWidth(cut(node.name)) + 52)} height={26} rx={8} />
        <StateIcon state={state} x={14} y={13} />
        <text x={state === undefined ? 12 : 28} y={13} dy="0.35em">
          {cut(node.name)} −
        </text>
      </g>
    </g>
  );
}

/** `Approve waits`. */
export function nodeName({ name }: GraphNode, state: NodeState | undefined): string {
  return state === undefined ? name : `${name} ${state}`;
}

export function EdgeShape({ edge: { path, isConditional, label } }: { edge: EdgePlace }) {
  return (
    <>
      <path class="graph-edge" data-conditional={isConditional ? "" : undefined} d={path} marker-end="url(#graph-arrow)" />
      {label !== null && (
        <text class="graph-label" x={label.x} y={label.y} dy="0.35em" text-anchor="middle">
          {label.text}
        </text>
      )}
    </>
  );
}

function Terminal({ kind, x, y }: { kind: "start" | "end"; x: number; y: number }) {
  return (
    <g class="graph-terminal" data-kind={kind} aria-hidden="true">
      <circle cx={x} cy={y} r={9} />
      {kind === "end" && <circle class="graph-terminal-core" cx={x} cy={y} r={4} />}
    </g>
  );
}

const ICONS: Record<NodeState, string> = {
  ran: "M-4 0.5L-1 3.5L4.5 -3.5",
  running: "M-3 -4.5L5 0L-3 4.5Z",
  waits: "M-3 -4.5V4.5M3 -4.5V4.5",
  failed: "M-4 -4L4 4M4 -4L-4 4",
};

/** The state as a sign, so that it is not said by colour alone. */
export function StateIcon({ state, x, y }: { state: NodeState | undefined; x: number; y: number }) {
  if (state === undefined) return null;
  return <path class="state-icon" data-state={state} d={ICONS[state]} transform={`translate(${x} ${y})`} aria-hidden="true" />;
}
