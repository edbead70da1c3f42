// Whether the screen is as a query says, also after it was turned or resized. Knows no view.

import { useEffect, useState } from "preact/hooks";

export function useMedia(query: string): boolean {
  const [fits, setFits] = useState(() => matchMedia(query).matches);
  useEffect(() => {
    const list = matchMedia(query);
    const change = (): void => setFits(list.matches);
    change();
    list.addEventListener("change", change);
    return () => list.removeEventListener("change", change);
  }, [query]);
  return fits;
}
