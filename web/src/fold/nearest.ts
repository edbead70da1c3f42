// The place that an arrow key leads to. Knows no graph.

import type { Place } from "./layout";

/** What is more aside than ahead comes after all others. */
const ASIDE = 100_000;

/** Returns the id of the place that is nearest in the direction of a key; null if there is none or the key is no arrow. */
export function nearest(places: Place[], from: string, key: string): string | null {
  const start = places.find(({ id }) => id === from);
  const way = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] }[key];
  if (start === undefined || way === undefined) return null;
  const [x = 0, y = 0] = way;
  let best: { id: string; distance: number } | null = null;
  for (const place of places) {
    const [right, down] = [centre(place).x - centre(start).x, centre(place).y - centre(start).y];
    const along = right * x + down * y;
    if (place.id === from || along <= 1) continue;
    const across = Math.abs(right * y + down * x);
    const distance = along + 2 * across + (across > along ? ASIDE : 0);
    if (best === null || distance < best.distance) best = { id: place.id, distance };
  }
  return best?.id ?? null;
}

function centre({ x, y, width, height }: Place): { x: number; y: number } {
  return { x: x + width / 2, y: y + height / 2 };
}
