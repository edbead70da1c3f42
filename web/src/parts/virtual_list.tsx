// A list of any length of which only what is seen is in the document. All rows have one height, so nothing is measured. It scrolls with
// the page, or in a frame of its own. Knows no row from inside.

import { elementScroll, observeElementOffset, observeElementRect, observeWindowOffset, observeWindowRect, Virtualizer, windowScroll, type VirtualizerOptions } from "@tanstack/virtual-core";
import type { ComponentChildren, Ref } from "preact";
import { useEffect, useImperativeHandle, useLayoutEffect, useReducer, useRef, useState } from "preact/hooks";

export interface VirtualListHandle {
  /** Brings a row into view, if it is not. */
  show: (index: number) => void;
}

interface VirtualListProps {
  count: number;
  /** The height of a row in pixels. */
  height: number;
  /** Its class and role; with `frame`, the list scrolls in itself. */
  class?: string;
  role?: "list" | "rowgroup" | "presentation";
  frame?: boolean;
  /** Pixels at the top and the bottom of the page that something else covers. */
  covered?: { top: number; bottom: number };
  handle?: Ref<VirtualListHandle>;
  /** Called with the first row that is shown, and the one after the last. */
  onRange?: (start: number, end: number) => void;
  row: (index: number) => ComponentChildren;
}

/** Rows that are made before and after those that are seen. */
const AROUND = 8;

type Scroller = Window | HTMLElement;

export function VirtualList({ count, height, role = "list", frame = false, covered, handle, onRange, row, ...rest }: VirtualListProps) {
  const list = useRef<HTMLDivElement>(null);
  const [, redraw] = useReducer<number, void>((n) => n + 1, 0);
  const [margin, setMargin] = useState(0);
  const options: VirtualizerOptions<never, HTMLElement> = {
    ...(frame ? ofElement(list) : ofWindow),
    count,
    estimateSize: () => height,
    overscan: AROUND,
    scrollMargin: frame ? 0 : margin,
    scrollPaddingStart: covered?.top ?? 0,
    scrollPaddingEnd: covered?.bottom ?? 0,
    onChange: () => redraw(),
  };
  const [virtual] = useState(() => new Virtualizer<never, HTMLElement>(options));
  virtual.setOptions(options);

  useLayoutEffect(() => virtual._didMount(), [virtual]);
  useLayoutEffect(() => {
    const top = frame || list.current === null ? 0 : list.current.getBoundingClientRect().top + scrollY;
    if (Math.abs(top - margin) > 1) setMargin(top);
    virtual._willUpdate();
  });
  useLayoutEffect(() => virtual.measure(), [height]);
  useImperativeHandle(handle ?? null, () => ({ show: (index) => virtual.scrollToIndex(index, { align: "auto" }) }), [virtual]);

  const items = virtual.getVirtualItems();
  const [first, last] = [items[0]?.index ?? 0, (items.at(-1)?.index ?? -1) + 1];
  useEffect(() => onRange?.(first, last), [first, last, count]);
  return (
    <div ref={list} class={`virtual-list ${rest.class ?? ""}`} role={frame ? undefined : role} tabIndex={frame ? 0 : undefined}>
      <div class="virtual-list-all" role={frame ? role : "presentation"} style={{ height: `${count * height}px` }}>
        <div class="virtual-list-shown" role="presentation" style={{ transform: `translateY(${first * height}px)` }}>
          {items.map(({ index }) => row(index))}
        </div>
      </div>
    </div>
  );
}

type Own = "getScrollElement" | "observeElementRect" | "observeElementOffset" | "scrollToFn";
type Scrolling = Pick<VirtualizerOptions<never, HTMLElement>, Own>;

const ofWindow = {
  getScrollElement: () => window,
  observeElementRect: observeWindowRect,
  observeElementOffset: observeWindowOffset,
  scrollToFn: windowScroll,
} as unknown as Scrolling;

function ofElement(list: { current: Scroller | null }): Scrolling {
  return { getScrollElement: () => list.current, observeElementRect, observeElementOffset, scrollToFn: elementScroll } as unknown as Scrolling;
}
