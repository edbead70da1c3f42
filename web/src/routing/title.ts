// The title of the page. Knows no DOM.

import { withoutTurns } from "../fold/hidden";
import type { Route } from "./routes";

/** Returns `(3) order-7 · superstep`, where 3 things wait for a person. */
export function titleOf(route: Route, waiting: number): string {
  return `${waiting > 0 ? `(${waiting}) ` : ""}${withoutTurns(nameOf(route))} · superstep`;
}

function nameOf(route: Route): string {
  if (route.view !== "start" && "thread" in route) return route.thread;
  if (route.view === "unknown") return "Not found";
  const name = route.view.charAt(0).toUpperCase() + route.view.slice(1);
  return route.view === "start" && route.graph !== undefined ? `${name} ${route.graph}` : name;
}
