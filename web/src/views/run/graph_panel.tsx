// The graph of a run. A node leads to its newest task; a box of a subgraph opens.

import { useMemo, useState } from "preact/hooks";

import type { Divergence } from "../../api/debug_types";
import type { CheckpointEntry } from "../../api/run_types";
import { divergingNodes } from "../../fold/divergence";
import { findTask, type NodeState, type Topology } from "../../fold/graph";
import { GraphView } from "../../parts/graph_view";
import { go } from "../../routing/navigation";
import type { Inside } from "./use_run";

interface GraphPanelProps {
  thread: string;
  topology: Topology;
  states: ReadonlyMap<string, NodeState>;
  next: ReadonlySet<string>;
  line: CheckpointEntry[];
  inside: Inside;
  /** The first divergence from the record, while a panel shows it. */
  divergence: Divergence | null;
}

export function GraphPanel({ thread, topology, states, next, line, inside, divergence }: GraphPanelProps) {
  const [note, setNote] = useState("");
  const diverging = useMemo(() => divergingNodes(divergence), [divergence]);
  const way = (key: string | null): string[] => (key === null ? [] : inside.way(key));
  const select = (id: string): void => {
    const found = findTask(id, line, inside.lists);
    if (found === null) setNote(`${id.replaceAll(":", "/")} has not run.`);
    else go({ view: "task", thread, checkpoint: String(found.checkpoint), task: found.task.id, within: way(found.inside) });
  };
  const openBox = (id: string): void => {
    const found = findTask(id, line, inside.lists);
    if (found !== null && found.task.has_inside) inside.load([...way(found.inside), `${found.checkpoint}:${found.task.id}`], id.split(":"));
  };
  return (
    <section class="stack run-graph" aria-label="Nodes">
      <GraphView topology={topology} states={states} next={next} diverging={diverging} onSelect={select} onOpenBox={openBox} />
      <p class="soft" role="status">
        {note}
      </p>
    </section>
  );
}
