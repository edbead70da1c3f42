// The state at a checkpoint, and one of its values as a whole.

import { useState } from "preact/hooks";

import { useResource } from "../../api/resource";
import { loadLevel, loadWhole } from "../../api/run";
import { sizeText, type TreeRow } from "../../fold/state_tree";
import { Button } from "../../parts/button";
import { ErrorNote, Loading } from "../../parts/notes";
import { LongText } from "../../parts/long_text";
import { Tree } from "../../parts/tree";
import { useStateTree } from "./use_state";

interface StateProps {
  thread: string;
  checkpoint: number;
  parent: number | null;
}

export function StatePanel({ thread, checkpoint, parent }: StateProps) {
  const { rows, size, error, isLoading, toggle } = useStateTree(thread, checkpoint, parent);
  const [shown, setShown] = useState<TreeRow | null>(null);
  const changed = rows.filter(({ level, change }) => level === 1 && change !== null).length;
  return (
    <section class="stack run-state" aria-busy={isLoading}>
      <header class="row">
        <h2>State</h2>
        {size !== null && <span class="soft">{sizeText(size)}</span>}
        {changed > 0 && <span class="soft">{changed === 1 ? "1 channel" : `${changed} channels`} changed here</span>}
      </header>
      {error !== undefined && <ErrorNote error={error} />}
      {rows.length === 0 && error === undefined && (isLoading ? <Loading what="the state" /> : <p class="soft">Nothing was written yet.</p>)}
      {rows.length > 0 && <Tree name="State" rows={rows} onToggle={toggle} onShow={setShown} />}
      {shown !== null && <WholeValue key={shown.path} thread={thread} checkpoint={checkpoint} path={shown.path} onClose={() => setShown(null)} />}
    </section>
  );
}

function WholeValue({ thread, checkpoint, path, onClose }: { thread: string; checkpoint: number; path: string; onClose: () => void }) {
  const [isWhole, setWhole] = useState(false);
  const { value, error } = useResource(`value ${thread} ${checkpoint} ${path} ${isWhole}`, (signal) => (isWhole ? loadWhole(thread, checkpoint, path, signal) : loadLevel(thread, checkpoint, path, undefined, signal)));
  return (
    <section class="run-value stack" aria-label={`Value of ${path}`}>
      <header class="row">
        <h3>
          <code>{path}</code>
        </h3>
        {value !== undefined && <span class="soft">{sizeText(value.size)}</span>}
        <Button kind="quiet" onClick={onClose}>
          Close
        </Button>
      </header>
      {error !== undefined && <ErrorNote error={error} />}
      {value !== undefined && (
        <LongText text={typeof value.value === "string" ? value.value : JSON.stringify(value.value ?? null, null, 2)} label="the value" />
      )}
      {value?.cut === true && !isWhole && (
        <p class="row">
          <span class="soft">This is the first part of the text.</span>
          <Button onClick={() => setWhole(true)}>Load all of it</Button>
        </p>
      )}
      {value?.cut === true && isWhole && <p class="soft">The text is longer still: export the thread to have all of it.</p>}
    </section>
  );
}
