// Shell commands as code, each on a line of its own, with nothing in them hidden.

import { Visible } from "./visible";

export function Commands({ list, label }: { list: string[]; label?: string | undefined }) {
  return (
    <ul role="list" class="commands" aria-label={label}>
      {list.map((command) => (
        <li>
          <span class="commands-prompt" aria-hidden="true">
            $
          </span>
          <code>
            <Visible text={command} />
          </code>
        </li>
      ))}
    </ul>
  );
}
