// What takes a run apart: compare it with the present graph, try other values, go back, branch off. Used by the view of a run.

import { useState } from "preact/hooks";

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
  /** The checkpoint that is looked at. */
  checkpoint: string;
  /** The checkpoint before it; null for the first one. */
  parent: string | null;
  /** Whether it is the newest one. */
  isNewest: boolean;
}

const TOOLS = ["Verify", "What if", "Fork", "Rewind"] as const;
type Tool = (typeof TOOLS)[number];

export function Tools({ thread, graph, checkpoint, parent, isNewest }: ToolsProps) {
  const [open, setOpen] = useState<Tool | null>(null);
  const at = { thread, checkpoint };
  return (
    <section class="stack" aria-label="Take apart">
      <div class="button-row">
        {TOOLS.map((tool) => (
          <Button key={tool} aria-expanded={open === tool} disabled={tool === "Rewind" && isNewest} onClick={() => setOpen(open === tool ? null : tool)}>
            {tool}
          </Button>
        ))}
        {parent !== null && (
          <a class="button" href={href({ view: "diff", thread, from: parent, to: checkpoint })}>
            Differences
          </a>
        )}
      </div>
      {open === "Verify" && <VerifyPanel {...at} />}
      {open === "What if" && <WhatIfPanel {...at} />}
      {open === "Fork" && <ForkForm {...at} graph={graph} />}
      {open === "Rewind" && <RewindPanel {...at} onClose={() => setOpen(null)} />}
    </section>
  );
}
