// The addresses of the views: a path below the page's own to a route, and back. Knows no browser.

/** An address of a view. Names and ids are decoded. */
export type Route =
  | { view: "inbox" }
  | { view: "threads"; search: string; status?: string; graph?: string }
  | { view: "thread"; thread: string; checkpoint?: string }
  /** `within` are the tasks whose subgraphs it is in, as `3:3-0`. */
  | { view: "task"; thread: string; checkpoint?: string; task: string; within?: string[] }
  | { view: "diff"; thread: string; from: string; to: string; other?: string }
  /** `from` is a thread whose last input fills the form, `thread` the one on which the run starts. */
  | { view: "start"; graph?: string | undefined; from?: string | undefined; thread?: string | undefined }
  | { view: "spend" }
  | { view: "settings" }
  | { view: "unknown"; path: string };

/** Reads a path without its leading slash, such as `threads/order-7/checkpoints/3?q=tea`. */
export function parseRoute(address: string): Route {
  const [path = "", query = ""] = address.split("?", 2);
  const parts = path.split("/").filter((part) => part !== "");
  const names = parts.map(decode);
  const unknown: Route = { view: "unknown", path };
  if (names.includes(undefined)) return unknown;
  const [first, second] = names;
  if (first === undefined) return { view: "inbox" };
  if (first === "threads" && second !== undefined) return withWithin(parseThread(second, names.slice(2) as string[]), query) ?? unknown;
  if (first === "threads") return parseThreads(new URLSearchParams(query));
  if (names.length > 2 || (names.length === 2 && first !== "start")) return unknown;
  if (first === "start") return { view: "start", ...(second === undefined ? {} : { graph: second }), ...parseStart(new URLSearchParams(query)) };
  return first === "spend" || first === "settings" ? { view: first } : unknown;
}

/** Writes a route as a path without its leading slash. */
export function routePath(route: Route): string {
  switch (route.view) {
    case "inbox":
      return "";
    case "threads":
      return `threads${threadsQuery(route)}`;
    case "thread":
      return join(["threads", route.thread, ...at(route.checkpoint)]);
    case "task":
      return join(["threads", route.thread, ...at(route.checkpoint), "tasks", route.task]) + withinQuery(route.within);
    case "diff":
      return `${join(["threads", route.thread, "diff"])}/${diffPart(route)}`;
    case "start":
      return join(route.graph === undefined ? ["start"] : ["start", route.graph]) + queryOf({ from: route.from, thread: route.thread });
    case "unknown":
      return route.path;
    default:
      return route.view;
  }
}

function parseThreads(query: URLSearchParams): Route {
  const [status, graph] = [query.get("status"), query.get("graph")];
  return { view: "threads", search: query.get("q") ?? "", ...(status === null ? {} : { status }), ...(graph === null ? {} : { graph }) };
}

function threadsQuery({ search, status = "", graph = "" }: { search: string; status?: string; graph?: string }): string {
  return queryOf({ q: search, status, graph });
}

function parseStart(query: URLSearchParams): { from?: string; thread?: string } {
  const [from, thread] = [query.get("from") ?? "", query.get("thread") ?? ""];
  return { ...(from === "" ? {} : { from }), ...(thread === "" ? {} : { thread }) };
}

/** Writes the words of a query that are set. */
function queryOf(words: Record<string, string | undefined>): string {
  const given = Object.entries(words).filter((word): word is [string, string] => word[1] !== undefined && word[1] !== "");
  return given.length === 0 ? "" : `?${new URLSearchParams(given)}`;
}

function parseThread(thread: string, rest: string[]): Route | undefined {
  const [kind, id, ...more] = rest;
  if (kind === undefined) return { view: "thread", thread };
  if (id === undefined) return undefined;
  if (kind === "tasks" && more.length === 0) return { view: "task", thread, task: id };
  if (kind === "diff" && more.length === 0) return parseDiff(thread, id);
  if (kind !== "checkpoints") return undefined;
  if (more.length === 0) return { view: "thread", thread, checkpoint: id };
  const [inner, task] = more;
  return inner === "tasks" && task !== undefined && more.length === 2
    ? { view: "task", thread, checkpoint: id, task }
    : undefined;
}

/** Reads `3..5`, or `3..5@order-8` where 5 is a checkpoint of another thread. */
function parseDiff(thread: string, text: string): Route | undefined {
  const match = /^(\d+)\.\.(\d+)(?:@(.+))?$/s.exec(text);
  if (match === null) return undefined;
  const [, from = "", to = "", other] = match;
  return other === undefined ? { view: "diff", thread, from, to } : { view: "diff", thread, from, to, other };
}

function withWithin(route: Route | undefined, query: string): Route | undefined {
  const within = new URLSearchParams(query).getAll("within");
  return route?.view === "task" && within.length > 0 ? { ...route, within } : route;
}

function withinQuery(within: string[] = []): string {
  return within.length === 0 ? "" : `?${new URLSearchParams(within.map((key) => ["within", key]))}`;
}

function diffPart({ from, to, other }: { from: string; to: string; other?: string }): string {
  return other === undefined ? `${from}..${to}` : `${from}..${to}@${encodeURIComponent(other)}`;
}

function at(checkpoint: string | undefined): string[] {
  return checkpoint === undefined ? [] : ["checkpoints", checkpoint];
}

function join(parts: string[]): string {
  return parts.map(encodePart).join("/");
}

/** Encodes a name; `.` and `..` would be read as steps in a path, and a browser removes them even if encoded. */
function encodePart(name: string): string {
  return encodeURIComponent(name);
}

function decode(part: string): string | undefined {
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}
