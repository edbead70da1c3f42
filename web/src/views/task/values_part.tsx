// What a task has read and written.

import { useMemo } from "preact/hooks";

import type { TaskDetail, ValueLevel } from "../../api/run_types";
import { NO_CHANGES, sizeText, treeRows } from "../../fold/state_tree";
import { inputLevel } from "../../fold/task";
import { JsonBlock } from "../../parts/json_block";
import { Tree } from "../../parts/tree";
import { go, href } from "../../routing/navigation";

interface InputProps {
  thread: string;
  checkpoint: string;
  task: TaskDetail;
  isNested: boolean;
}

export function InputPart({ thread, checkpoint, task, isNested }: InputProps) {
  const level = useMemo(() => inputLevel(task.input), [task.input]);
  const showState = (): void => go({ view: "thread", thread, checkpoint });
  if (level === null) return null;
  return (
    <section class="stack">
      <header class="row">
        <h2>Read</h2>
        <span class="soft">{sizeText(level.size)}</span>
        {!isNested && <a class="lone-link" href={href({ view: "thread", thread, checkpoint })}>The state at checkpoint {checkpoint}</a>}
      </header>
      <Level name="Read" level={level} onShow={showState} />
    </section>
  );
}

export function WritesPart({ task: { writes, writes_outline: outline, status } }: { task: TaskDetail }) {
  const list = writes ?? [];
  if (outline === undefined && list.length === 0 && status !== "done") return null;
  return (
    <section class="stack">
      <h2>Wrote</h2>
      {outline !== undefined && <Level name="Wrote" level={outline} onShow={() => undefined} />}
      {outline === undefined && list.length === 0 && <p class="soft">Nothing.</p>}
      {list.map((update, at) => (
        <dl class="facts task-writes" key={at}>
          {Object.entries(update).map(([channel, value]) => [
            <dt key={`${channel}-name`}>{channel}</dt>,
            <dd key={channel}>
              <JsonBlock name={`Wrote ${channel}`} value={value} />
            </dd>,
          ])}
        </dl>
      ))}
    </section>
  );
}

/** One level of a value; what is below it is not there to be opened. */
function Level({ name, level, onShow }: { name: string; level: ValueLevel; onShow: () => void }) {
  const rows = useMemo(() => treeRows(new Map([["", level]]), new Set(), NO_CHANGES).map((row) => ({ ...row, count: null })), [level]);
  if (level.value !== undefined) return <JsonBlock name={name} value={level.value} />;
  if (rows.length === 0) return <p class="soft">Nothing.</p>;
  return <Tree name={name} rows={rows.filter(({ more }) => more === null)} onToggle={() => undefined} onShow={onShow} />;
}
