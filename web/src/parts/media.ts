// Whether the page is narrow, for what a style sheet cannot decide. Knows no view.

import { signal, type ReadonlySignal } from "@preact/signals";

/** Returns a signal that is true while a media query fits. */
export function mediaSignal(query: string): ReadonlySignal<boolean> {
  const list = matchMedia(query);
  const fits = signal(list.matches);
  list.addEventListener("change", () => (fits.value = list.matches));
  return fits;
}
