// Where the page is: the route as a signal, and the ways to change it. On a server the address is a path below the page's own, in an
// exported file it is what comes after `#/`. Knows no view.

import { computed, signal } from "@preact/signals";

import { isRecording, readRecording } from "../api/recording";
import { parseRoute, routePath, type Route } from "./routes";

const HASH = isRecording();
/** The path of the page, with a slash at its end: `/ui/`, or below a prefix. */
const BASE = HASH ? "" : location.pathname.slice(0, location.pathname.indexOf("/ui/") + 4);

const address = signal(read());

/** The route of the address. */
export const route = computed(() => parseRoute(address.value));

/** Returns the address of a route, for a link. */
export function href(to: Route): string {
  return HASH ? `#/${routePath(to)}` : BASE + routePath(to);
}

/** Shows a route. `replace` leaves no entry for the back button. */
export function go(to: Route, { replace = false } = {}): void {
  history[replace ? "replaceState" : "pushState"](null, "", href(to));
  address.value = read();
}

/** Follows the back and forward buttons, and links of the page without a load. */
export function follow(): void {
  addEventListener("popstate", () => (address.value = read()));
  document.addEventListener("click", (event) => {
    const link = (event.target as Element | null)?.closest?.("a");
    if (link === null || link === undefined || event.defaultPrevented || !isOwn(link, event)) return;
    event.preventDefault();
    if (link.href !== location.href) history.pushState(null, "", link.href);
    address.value = read();
    scrollTo(0, 0);
  });
}

function isOwn(link: HTMLAnchorElement, event: MouseEvent): boolean {
  const isPlain = event.button === 0 && !(event.metaKey || event.ctrlKey || event.shiftKey || event.altKey);
  const isHere = HASH ? (link.getAttribute("href") ?? "").startsWith("#/") : link.origin === location.origin && link.pathname.startsWith(BASE);
  return isPlain && isHere && link.target === "" && !link.hasAttribute("download");
}

function read(): string {
  if (!HASH) return location.pathname.slice(BASE.length) + location.search;
  const inside = location.hash.replace(/^#\/?/, "");
  // A file has one run, which is what it shows first.
  return inside === "" ? routePath({ view: "thread", thread: readRecording()?.thread ?? "" }) : inside;
}
