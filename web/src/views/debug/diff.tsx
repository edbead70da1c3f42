// The differences between two checkpoints, of one thread or of two.

import type { StateDiff } from "../../api/debug_types";
import { useResource } from "../../api/resource";
import { request } from "../../api/source";
import { isSame } from "../../fold/changes";
import { ErrorNote, Loading } from "../../parts/notes";
import { Visible } from "../../parts/visible";
import { href } from "../../routing/navigation";
import { Changes } from "./changes";
import { DiffPicker } from "./diff_picker";
import "./debug.css";

interface DiffProps {
  thread: string;
  from: string;
  to: string;
  other?: string | undefined;
}

export function CheckpointDiff({ thread, from, to, other }: DiffProps) {
  const query = new URLSearchParams({ from, to, ...(other === undefined ? {} : { other }) });
  const path = `/threads/${encodeURIComponent(thread)}/diff?${query}`;
  const { value, error, reload } = useResource(path, (signal) => request<StateDiff>(path, { signal }));
  return (
    <div class="stack">
      <header class="stack">
        <h1><Visible text={thread} /></h1>
        <p class="row">
          <a class="lone-link" href={href({ view: "thread", thread })}>The run</a>
          <span>
            What changed from <CheckpointLink thread={thread} id={from} /> to <CheckpointLink thread={other ?? thread} id={to} />
            {other === undefined ? "" : ` of ${other}`}
          </span>
        </p>
        <DiffPicker key={path} thread={thread} from={from} to={to} other={other} />
      </header>
      {error !== undefined && <ErrorNote error={error} onRetry={reload} />}
      {value === undefined && error === undefined && <Loading what="the differences" />}
      {value !== undefined && (isSame(value) ? <p role="status">Nothing differs.</p> : <Changes diff={value} />)}
    </div>
  );
}

function CheckpointLink({ thread, id }: { thread: string; id: string }) {
  return <a href={href({ view: "thread", thread, checkpoint: id })}>checkpoint {id}</a>;
}
