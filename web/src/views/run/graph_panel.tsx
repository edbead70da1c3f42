// The graph of a run. A node leads to its newest task; a box of a subgraph opens.

import { useState } from "preact/hooks";

import type { Brief, CheckpointEntry } from "../../api/run_types";
import { nodeOfTask, type NodeState, type Topology } from "../../fold/graph";
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
}

export function GraphPanel({ thread, topology, states, next, line, inside }: GraphPanelProps) {
  const [note, setNote] = useState("");
  const select = (id: string): void => {
    const found = findTask(id, line, inside.lists);
    if (found === null) setNote(`${id.replaceAll(":", "/")} has not run.`);
    else go({ view: "task", thread, checkpoint: String(found.checkpoint), task: found.task.id, within: found.within });
  };
  const openBox = (id: string): void => {
    const found = findTask(id, line, inside.lists);
    if (found !== null && found.task.has_inside) inside.load([...found.within, `${found.checkpoint}:${found.task.id}`], id.split(":"));
  };
  return (
    <section class="stack run-graph" aria-label="Nodes">
      <GraphView topology={topology} states={states} next={next} onSelect={select} onOpenBox={openBox} />
      <p class="visually-hidden" role="status">
        {note}
      </p>
    </section>
  );
}

interface Found {
  checkpoint: number;
  task: Brief;
  within: string[];
}

/** Returns the newest task of a node, in the root graph or in a task whose subgraph is loaded. */
function findTask(id: string, line: CheckpointEntry[], lists: Inside["lists"]): Found | null {
  const own = findIn(id, line, []);
  if (own !== null) return own;
  for (const [key, list] of lists) {
    const found = findIn(id, list, [key]);
    if (found !== null) return found;
  }
  return null;
}

function findIn(id: string, line: CheckpointEntry[], within: string[]): Found | null {
  for (const { checkpoint, tasks } of [...line].reverse()) {
    const task = tasks.find((one) => nodeOfTask(one) === id);
    if (task !== undefined) return { checkpoint, task, within };
  }
  return null;
}
