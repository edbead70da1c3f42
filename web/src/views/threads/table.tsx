// The rows of the threads, of which only those in view are in the document.

import type { Ref } from "preact";

import { rowAt } from "../../fold/threads";
import { useMedia } from "../../parts/media";
import { VirtualList, type VirtualListHandle } from "../../parts/virtual_list";
import type { ThreadList } from "./thread_list";
import { RowToCome, ThreadRow } from "./thread_row";

interface TableProps {
  list: ThreadList;
  handle: Ref<VirtualListHandle>;
  selected: ReadonlySet<string>;
  current: number;
  onSelect: (thread: string, isSelected: boolean) => void;
  onCurrent: (index: number) => void;
}

const COLUMNS = ["Selected", "Thread", "Status", "Graph", "Position", "Cost", "Started"];
/** The heights of a row and a card, as in the style sheet. */
const HEIGHTS = { row: 44, card: 68 };
const COVERED = { top: 120, bottom: 80 };

export function Table({ list, handle, selected, current, onSelect, onCurrent }: TableProps) {
  const isNarrow = useMedia("(max-width: 1023px)");
  const pages = list.pages.value;
  const places = list.places.known.value;
  const row = (index: number) => {
    const thread = rowAt(pages, index);
    if (thread === undefined) return <RowToCome key={index} index={index} />;
    const name = thread.thread_id;
    return (
      <ThreadRow
        key={index}
        index={index}
        thread={thread}
        place={places.get(name)}
        isSelected={selected.has(name)}
        isCurrent={index === current}
        isGone={list.gone.value.has(name)}
        onSelect={onSelect}
        onFocus={onCurrent}
      />
    );
  };
  return (
    <div class="threads-table" role="table" aria-label="Threads" aria-rowcount={pages.count + 1}>
      <div role="rowgroup" class="threads-columns">
        <div class="threads-row" role="row" aria-rowindex={1}>
          {COLUMNS.map((column) => (
            <span role="columnheader">{column === "Selected" ? <span class="visually-hidden">{column}</span> : column}</span>
          ))}
        </div>
      </div>
      <VirtualList role="rowgroup" count={pages.count} height={isNarrow ? HEIGHTS.card : HEIGHTS.row} covered={COVERED} handle={handle} onRange={(start, end) => list.show(start, end)} row={row} />
    </div>
  );
}
