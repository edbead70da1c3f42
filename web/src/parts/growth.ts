// Many elements that come a part at a time, so that no task of the page is long. Knows no element.

import { useEffect, useState } from "preact/hooks";

/** Returns how many of `total` are shown: more of them each moment, from the start again for another `whole`. */
export function useGrowth(whole: object | null, total: number, step: number): number {
  const [grown, setGrown] = useState({ whole, count: step });
  const count = grown.whole === whole ? grown.count : step;
  useEffect(() => {
    if (count >= total) return undefined;
    const timer = setTimeout(() => setGrown({ whole, count: count + step }));
    return () => clearTimeout(timer);
  }, [whole, count, total]);
  return count;
}
