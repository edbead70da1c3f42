// The title of the page, by which its tab is found: what waits, and the name of the view or the thread. Knows no view from inside.

import { effect } from "@preact/signals";

import { route } from "../routing/navigation";
import { titleOf } from "../routing/title";
import { waiting } from "./waiting";

/** Keeps the title true for as long as the page is open. */
export function showTitle(): void {
  effect(() => void (document.title = titleOf(route.value, waiting.value)));
}
