// The recorded tasks that a fork or a rewind runs again, with what they have done.

import type { Again } from "../../fold/fork";
import { againText, nodeText } from "../../fold/fork";
import { Visible } from "../../parts/visible";

/** Nodes that are named; a run may have hundreds. */
const NAMED = 12;

export function AgainNote({ again }: { again: Again }) {
  return (
    <div class="stack again" role="group" aria-label="Would run again">
      <p>{againText(again)}</p>
      {again.nodes.length > 0 && (
        <ul>
          {again.nodes.slice(0, NAMED).map((node) => (
            <li key={node.name}>
              <Visible text={nodeText(node)} />
            </li>
          ))}
          {again.nodes.length > NAMED && <li>and {again.nodes.length - NAMED} more nodes</li>}
        </ul>
      )}
    </div>
  );
}
