// The place of a divergence: in the timeline of a run, and in its graph. Knows no DOM.

import type { Divergence } from "../api/debug_types";
import type { TimelineRow } from "./timeline";

/** Several nodes are joined where it is not known which of them differs. */
const JOIN = ", ";

/** Returns the keys of the rows that differ; of a subgraph that is not open, the row of the task it ran in. */
export function divergingRows(rows: TimelineRow[], found: Divergence | null): ReadonlySet<string> {
  if (found === null) return new Set();
  const { checkpoint, namespace = [], node, task } = found;
  const nodes = node.split(JOIN);
  const own = rows.filter((row) => row.within.length === namespace.length && row.checkpoint === checkpoint && nodes.includes(row.task.node));
  const exact = task === undefined ? own : own.filter((row) => row.task.id === task);
  if (exact.length > 0 || namespace.length === 0) return new Set((exact.length > 0 ? exact : own).map(({ key }) => key));
  const outer = rows.findLast((row) => row.within.length === 0 && row.task.node === namespace[0] && row.checkpoint <= checkpoint);
  return new Set(outer === undefined ? [] : [outer.key]);
}

/** Returns the ids of the nodes of a drawing that differ. */
export function divergingNodes(found: Divergence | null): ReadonlySet<string> {
  return new Set(found === null ? [] : found.node.split(JOIN).map((node) => [...(found.namespace ?? []), node].join(":")));
}

/** Returns whether a node of a drawing differs, or something in its box, which is closed. */
export function isDiverging(id: string, ids: ReadonlySet<string>): boolean {
  return ids.has(id) || [...ids].some((one) => one.startsWith(`${id}:`));
}
