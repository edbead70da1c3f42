// What takes a run apart: compare it with the present graph, try other values, go back, branch off. Used by the view of a run. A panel is about
// the checkpoint that was shown when it was opened, also while the run makes new ones.

import { useMemo, useState } from "preact/hooks";

import type { Divergence } from "../../api/debug_types";
import type { CheckpointEntry } from "../../api/run_types";
import { lineOf } from "../../fold/checkpoints";
import { tasksAgain } from "../../fold/fork";
import { Button } from "../../parts/button";
import { href } from "../../routing/navigation";
import { ForkForm } from "./fork_form";
import { RewindPanel } from "./rewind_panel";
import { VerifyPanel } from "./verify_panel";
import { WhatIfPanel } from "./what_if_panel";
import "./debug.css";

interface ToolsProps {
  thread: string;
  graph: string | undefined;
  /** All checkpoints that are known, newest first. */
  list: CheckpointEntry[];
  /** The one that is looked at. */
  shown: CheckpointEntry;
  /** Called with the first divergence that a panel shows; null once it is closed. */
  onDiverge: (found: Divergence | null) => void;
}

const TOOLS = ["Verify", "What if", "Fork", "Rewind"] as const;
type Tool = (typeof TOOLS)[number];

interface OpenTool {
  tool: Tool;
  checkpoint: number;
}

export function Tools({ thread, graph, list, shown, onDiverge }: ToolsProps) {
  const { checkpoint, parent } = shown;
  const [open, setOpen] = useState<OpenTool | null>(null);
  const isNewest = checkpoint === list[0]?.checkpoint;
  const turn = (tool: Tool): void => setOpen(open?.tool === tool ? null : { tool, checkpoint });
  return (
    <section class="stack" aria-label="Take apart">
      <div class="button-row">
        {TOOLS.map((tool) => (
          <Button key={tool} aria-expanded={open?.tool === tool} disabled={tool === "Rewind" && isNewest} onClick={() => turn(tool)}>
            {tool}
          </Button>
        ))}
        {parent !== null && (
          <a class="button" href={href({ view: "diff", thread, from: String(parent), to: String(checkpoint) })}>
            Differences
          </a>
        )}
      </div>
      {open !== null && open.checkpoint !== checkpoint && (open.tool === "Fork" || open.tool === "What if") && (
        <p class="row">
          <span>This is about checkpoint {open.checkpoint}. Another one is shown now.</span>
          <Button kind="quiet" onClick={() => setOpen({ ...open, checkpoint })}>
            Use the one shown
          </Button>
        </p>
      )}
      {open !== null && <Panel key={`${open.tool} ${open.checkpoint}`} open={open} thread={thread} graph={graph} list={list} onDiverge={onDiverge} onClose={() => setOpen(null)} />}
    </section>
  );
}

interface PanelProps extends Pick<ToolsProps, "thread" | "graph" | "list" | "onDiverge"> {
  open: OpenTool;
  onClose: () => void;
}

function Panel({ open: { tool, checkpoint }, thread, graph, list, onDiverge, onClose }: PanelProps) {
  const at = { thread, checkpoint: String(checkpoint) };
  const again = useMemo(() => tasksAgain(lineOf(list, checkpoint), checkpoint), [list, checkpoint]);
  switch (tool) {
    case "Verify":
      return <VerifyPanel thread={thread} onDiverge={onDiverge} />;
    case "What if":
      return <WhatIfPanel {...at} list={list} onDiverge={onDiverge} />;
    case "Fork":
      return <ForkForm {...at} graph={graph} again={again} />;
    case "Rewind":
      return <RewindPanel {...at} again={again} onClose={onClose} />;
  }
}
