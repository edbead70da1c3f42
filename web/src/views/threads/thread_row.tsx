// One thread of the list: a row on a wide screen, a card on a narrow one.

import { costText, graphOf, markOf, placeText, titleOf, type ListedThread, type ThreadPlace } from "../../fold/threads";
import { memo } from "../../parts/memo";
import { Ago } from "../../parts/time";
import { Visible } from "../../parts/visible";
import { href } from "../../routing/navigation";

interface ThreadRowProps {
  index: number;
  thread: ListedThread;
  place: ThreadPlace | undefined;
  isSelected: boolean;
  isCurrent: boolean;
  isGone: boolean;
  onSelect: (thread: string, isSelected: boolean) => void;
  onFocus: (index: number) => void;
}

export const ThreadRow = memo(Row);

function Row({ index, thread, place, isSelected, isCurrent, isGone, onSelect, onFocus }: ThreadRowProps) {
  const { thread_id: name } = thread;
  const mark = isGone ? { text: "deleted", kind: undefined } : markOf(thread, place);
  const [where, title] = [isGone ? "" : placeText(thread, place), titleOf(thread)];
  return (
    <div class="threads-row" role="row" aria-rowindex={index + 2} data-index={index} data-current={isCurrent || undefined} data-selected={isSelected || undefined} data-gone={isGone || undefined} onFocusIn={() => onFocus(index)}>
      <span role="cell" class="threads-check">
        <label>
          <input type="checkbox" aria-label={name} checked={isSelected} disabled={isGone && !isSelected} onChange={(event) => onSelect(name, event.currentTarget.checked)} />
        </label>
      </span>
      <span role="cell" class="threads-name">
        <a href={href({ view: "thread", thread: name })} title={name}>
          <Visible text={name} />
        </a>
        {title !== null && title !== name && <span class="soft threads-title"><Visible text={title} /></span>}
      </span>
      <span role="cell" class="threads-status">
        <span class="mark" data-kind={mark.kind}>
          {mark.text}
        </span>
      </span>
      <span role="cell" class="threads-graph">{graphOf(thread)}</span>
      <span role="cell" class="threads-place soft" title={where}>{where}</span>
      <span role="cell" class="threads-cost">{typeof place?.cost === "number" ? costText(place.cost) : ""}</span>
      <span role="cell" class="threads-age soft">
        <Ago at={thread.created_at} />
      </span>
    </div>
  );
}

/** The place of a thread that is still on its way. */
export function RowToCome({ index }: { index: number }) {
  return (
    <div class="threads-row" role="row" aria-rowindex={index + 2} data-to-come>
      <span role="cell" class="threads-name soft">…</span>
    </div>
  );
}
