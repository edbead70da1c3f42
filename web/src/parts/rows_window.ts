// The rows of a long list that can be seen. All rows have the same height; what is above and below is empty space. Knows no view.

import type { RefObject } from "preact";
import { useEffect, useState } from "preact/hooks";

/** Rows beyond the edge that are there already. */
const OVERSCAN = 10;

export interface RowsWindow {
  from: number;
  to: number;
  /** The space above and below, in pixels. */
  above: number;
  below: number;
}

/** Returns the rows that are seen in an element that scrolls. */
export function useRowsWindow(scroller: RefObject<HTMLElement | null>, count: number, height: number): RowsWindow {
  const [{ top, room }, setPlace] = useState({ top: 0, room: 600 });
  useEffect(() => {
    const element = scroller.current;
    if (element === null) return;
    const read = (): void => setPlace((was) => {
      const now = { top: Math.floor(element.scrollTop / height), room: element.clientHeight };
      return was.top === now.top && was.room === now.room ? was : now;
    });
    read();
    element.addEventListener("scroll", read, { passive: true });
    const observer = new ResizeObserver(read);
    observer.observe(element);
    return () => (element.removeEventListener("scroll", read), observer.disconnect());
  }, [height]);
  const from = Math.max(Math.min(top, count - 1) - OVERSCAN, 0);
  const to = Math.min(top + Math.ceil(room / height) + OVERSCAN, count);
  return { from, to, above: from * height, below: Math.max(count - to, 0) * height };
}

/** Scrolls as far as needed for a row to be seen. */
export function revealRow(scroller: HTMLElement | null, at: number, height: number): void {
  if (scroller === null) return;
  const [top, bottom] = [at * height, (at + 1) * height];
  if (top < scroller.scrollTop) scroller.scrollTop = top;
  else if (bottom > scroller.scrollTop + scroller.clientHeight) scroller.scrollTop = bottom - scroller.clientHeight;
}
