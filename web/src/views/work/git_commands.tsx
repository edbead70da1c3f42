// Commands that show work in git, each to be copied.

import type { Command } from "../../fold/work";
import { Copy } from "../../parts/copy";
import { Visible } from "../../parts/visible";

export function GitCommands({ commands, title = "In git" }: { commands: Command[]; title?: string }) {
  if (commands.length === 0) return null;
  return (
    <div class="stack work-part">
      <h4>{title}</h4>
      <ul role="list" class="work-commands" aria-label={title}>
        {commands.map(({ label, command }) => (
          <li key={command}>
            {label !== "" && <span class="soft work-command-label">{label}</span>}
            <code>
              <Visible text={command} />
            </code>
            <Copy text={command} label={`command ${command}`}>
              Copy
            </Copy>
          </li>
        ))}
      </ul>
    </div>
  );
}
