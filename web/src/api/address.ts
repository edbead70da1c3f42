// Where the server is, for the page and for the worker that reads the activity for all tabs. Knows neither.

/** The address of the server that the page or the worker came from, without a slash at its end. */
export const SERVER = serverAt(globalThis.location?.pathname ?? "");

/** Returns the prefix below which a server is mounted, by the path of one of its pages; empty for a file, and for a server at the root. */
export function serverAt(path: string): string {
  return path.slice(0, Math.max(path.indexOf("/ui/"), 0));
}
