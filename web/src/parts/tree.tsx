// A tree of which only the rows that are seen are in the document, with the keys of the patterns of ARIA. Knows no request.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import { keyTarget, sizeText, type TreeRow } from "../fold/state_tree";
import { useKeys, type KeyAction } from "./keys";
import { useMedia } from "./media";
import { revealRow, useRowsWindow } from "./rows_window";
import { Visible } from "./visible";
import "./tree.css";

interface TreeProps {
  name: string;
  rows: TreeRow[];
  /** Opens or closes a row, or loads more for one that stands for more. */
  onToggle: (row: TreeRow) => void;
  /** Shows the whole value of a row. */
  onShow: (row: TreeRow) => void;
}

/** The height of a row, in pixels; rows are higher where they are touched. */
const [ROW, TOUCHED_ROW] = [28, 44];

export function Tree({ name, rows, onToggle, onShow }: TreeProps) {
  const keys = useMemo(() => keysOf(name.toLowerCase()), [name]);
  useKeys(keys);
  const scroller = useRef<HTMLDivElement>(null);
  const [active, setActive] = useState("");
  const isMoved = useRef(false);
  const height = useMedia("(max-width: 767px)") ? TOUCHED_ROW : ROW;
  const { from, to, above, below } = useRowsWindow(scroller, rows.length, height);
  const found = rows.findIndex(({ path }) => path === active);
  const at = found < 0 ? 0 : found;
  useEffect(() => {
    if (!isMoved.current) return;
    isMoved.current = false;
    scroller.current?.querySelector<HTMLElement>('[role="treeitem"][tabindex="0"]')?.focus({ preventScroll: true });
  }, [active, from]);

  const move = (to: number): void => {
    isMoved.current = true;
    revealRow(scroller.current, to, height);
    setActive(rows[to]?.path ?? "");
  };
  const activate = (row: TreeRow): void => {
    setActive(row.path);
    if (row.count !== null || row.more !== null) onToggle(row);
    else if (row.change !== "removed") onShow(row);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const row = rows[at];
    if (row === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    const target = keyTarget(rows, at, event.key);
    const isTurn = (event.key === "ArrowRight" && row.count !== null && !row.isOpen) || (event.key === "ArrowLeft" && row.isOpen);
    if (target !== null) move(target);
    else if (isTurn) onToggle(row);
    else if (event.key === "Enter" || event.key === " ") activate(row);
    else return;
    event.preventDefault();
  };
  return (
    <div class="tree" ref={scroller}>
      <div role="tree" aria-label={name} style={{ paddingTop: `${above}px`, paddingBottom: `${below}px` }} onKeyDown={onKeyDown}>
        {rows.slice(from, to).map((row, nth) => (
          <Item key={row.path} row={row} isActive={from + nth === at} onActivate={activate} />
        ))}
      </div>
    </div>
  );
}

/** For the list of keys; the tree handles them while it has the focus. */
function keysOf(name: string): KeyAction[] {
  return [
    { key: "ArrowUp ArrowDown", about: `in the ${name}: to the next value` },
    { key: "ArrowLeft ArrowRight", about: `in the ${name}: close and open a value` },
    { key: "Home End", about: `in the ${name}: to the first and the last value` },
    { key: "Enter", about: `in the ${name}: show all of a value` },
  ];
}

function Item({ row, isActive, onActivate }: { row: TreeRow; isActive: boolean; onActivate: (row: TreeRow) => void }) {
  return (
    <div
      class="tree-item"
      role="treeitem"
      aria-level={row.level}
      aria-expanded={row.count === null ? undefined : row.isOpen}
      aria-posinset={row.position || undefined}
      aria-setsize={row.siblings || undefined}
      aria-selected={isActive}
      tabIndex={isActive ? 0 : -1}
      data-changed={row.change ?? undefined}
      data-level={Math.min(row.level, 12)}
      data-path={row.path}
      onClick={() => onActivate(row)}
    >
      <span class="tree-sign" aria-hidden="true">
        {row.count === null ? "" : row.isOpen ? "▾" : "▸"}
      </span>
      <span class="tree-name"><Visible text={row.name} /></span>
      {row.more === null && <span class="tree-colon">:</span>}
      <span class="tree-value" data-type={row.type}>
        {row.isLoading ? "loading…" : <Visible text={row.preview ?? ""} />}
      </span>
      {row.was !== null && <span class="tree-was">was {row.was}</span>}
      {row.isCut && <span class="tree-all">show all</span>}
      {row.change !== null && row.change !== "inside" && <span class="tree-change">{row.change}</span>}
      {row.size >= 1000 && <span class="tree-size">{sizeText(row.size)}</span>}
    </div>
  );
}
