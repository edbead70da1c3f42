// Answers of threads that no server has to run first: a run of 100,000 tasks, a task of 100,000 events, a large state, a large graph.

type Json = unknown;

const START = Date.parse("2026-01-01T10:00:00Z");
const at = (millis: number): string => new Date(START + millis).toISOString();

/** Threads by name; each has what the views ask for. */
export interface MadeRun {
  checkpoints: number;
  /** The tasks of a superstep. */
  tasks: number;
  /** The nodes of its graph. */
  nodes: number;
  isRunning?: boolean;
  /** The events of each task. */
  events?: number;
  /** The state in bytes, about. */
  state?: number;
}

export const RUNS: Record<string, MadeRun> = {
  "made-tasks": { checkpoints: 1000, tasks: 100, nodes: 6 },
  "made-wide-tasks": { checkpoints: 100, tasks: 1000, nodes: 6 },
  "made-events": { checkpoints: 3, tasks: 1, nodes: 3, events: 100_000 },
  "made-live": { checkpoints: 3, tasks: 1, nodes: 3, isRunning: true },
  "made-agent": { checkpoints: 3, tasks: 1, nodes: 3, isRunning: true },
  "made-state": { checkpoints: 20, tasks: 1, nodes: 3, state: 10_000_000 },
  "made-graph": { checkpoints: 20, tasks: 1, nodes: 300 },
  "made-workers": { checkpoints: 4, tasks: 1000, nodes: 4, isRunning: true },
};

/** Returns the answer to a request for a made thread; undefined where the server answers itself. */
export function madeAnswer(method: string, path: string, body: string): Json | undefined {
  const url = new URL(path, "http://made");
  const [, thread = "", rest = ""] = /^\/threads\/(made-[^/]+)(\/.*)?$/.exec(url.pathname) ?? [];
  const run = RUNS[thread];
  if (method === "POST" && url.pathname === "/assistants/search" && body.includes('"made-')) return [{ assistant_id: JSON.parse(body).graph_id, graph_id: JSON.parse(body).graph_id }];
  const [, graph = ""] = /^\/assistants\/(made-[^/]+)\/graph$/.exec(url.pathname) ?? [];
  if (graph !== "") return drawing(RUNS[graph]?.nodes ?? 3);
  if (run === undefined) return undefined;
  if (rest === "/status") return status(thread, run);
  if (rest === "/inbox") return { items: [], next: null, waiting: 0 };
  if (rest === "/diff") return { channels: [], subgraphs: [], asked: [], gone: [], from: { next: [] }, to: { next: [] } };
  if (rest === "/checkpoints") return page(run, Number(url.searchParams.get("limit") ?? 100), Number(url.searchParams.get("before") ?? Infinity));
  const [, checkpoint, part] = /^\/checkpoints\/(\d+)\/(value|tasks\/.+)$/.exec(rest) ?? [];
  if (part === "value") return level(run, url.searchParams.get("path") ?? "", Number(url.searchParams.get("limit") ?? 200), Number(url.searchParams.get("after") ?? 0), url.searchParams.get("full") === "true");
  if (part !== undefined) return { ...task(run, Number(checkpoint), 0), writes: [], questions: [], answers: [], failures: [], input: { path: "", type: "object", size: 2, count: 0, entries: [], next: null }, ...records(run) };
  return undefined;
}

/** The events of a task that runs, as the protocol sends them: pieces of a message, and values; or the turn of an agent. */
export function* liveEvents(thread: string, count: number): Generator<string> {
  for (let seq = 1; seq <= count; seq += 1) {
    const [method, data] = thread === "made-agent" ? ["custom", { payload: agentEvent(seq) }] : nodeEvent(seq);
    yield `data: ${JSON.stringify({ type: "event", seq, event_id: String(seq), method, params: { namespace: [], timestamp: Date.now() + 1_000_000, node: "node 0", data } })}\n\n`;
  }
}

function nodeEvent(seq: number): [string, Json] {
  if (seq === 1) return ["messages", { event: "message-start", message_id: "m", id: "m", role: "ai" }];
  if (seq % 2 === 0) return ["custom", { payload: { step: seq, words: "a value of a node" } }];
  return ["messages", { event: "content-block-delta", message_id: "m", index: 0, delta: { type: "text-delta", text: `word ${seq} ` } }];
}

function agentEvent(seq: number): Json {
  if (seq === 1) return { turn: { role: "developer", driver: "scripted", prompt: "Do it.", title: "A task" } };
  if (seq % 10 === 0) return { tool_call: { id: `c${seq}`, name: "shell", arguments: { command: `echo ${seq}` } } };
  if (seq % 10 === 1) return { tool_result: { id: `c${seq - 1}`, ok: true, text: `${seq}` } };
  return { text: `piece ${seq} ` };
}

function status(thread: string, run: MadeRun): Json {
  const last = run.checkpoints - 1;
  const running = run.isRunning === true ? Array.from({ length: run.tasks }, (_, nth) => ({ node: `node ${nodeAt(run, last)}`, task: `${last}-${nth}`, started_at: at(last * 1000) })) : [];
  return { thread, graph: thread, status: run.isRunning === true ? "running" : "finished", step: last, checkpoint: last, created_at: at(0), updated_at: at(last * 1000), metadata: {}, next: [], running };
}

const nodeAt = (run: MadeRun, checkpoint: number): number => checkpoint % Math.max(run.nodes - 2, 1);

function task(run: MadeRun, checkpoint: number, nth: number): Record<string, Json> {
  const isOpen = checkpoint === run.checkpoints - 1;
  const node = `node ${nodeAt(run, checkpoint)}`;
  const status = !isOpen ? "done" : "pending";
  return {
    id: `${checkpoint}-${nth}`, node, path: [node], status, attempts: nth % 17 === 0 ? 2 : 1, error: null, label: null, summary: nth % 5 === 0 ? "found 3 of 4" : null,
    started_at: isOpen && run.isRunning !== true ? null : at(checkpoint * 1000 + nth), ended_at: isOpen ? null : at(checkpoint * 1000 + 900 - nth / 2),
    effects: 1, questions: 0, has_inside: false, cost: null, tokens: null, writes: 1,
  };
}

const entries = new Map<string, Json>();

function entry(run: MadeRun, checkpoint: number): Json {
  const key = `${run.checkpoints} ${run.tasks} ${checkpoint}`;
  const isEnd = checkpoint === run.checkpoints - 1 && run.isRunning !== true;
  const made = entries.get(key) ?? {
    checkpoint, parent: checkpoint === 0 ? null : checkpoint - 1, step: checkpoint - 1, source: checkpoint === 0 ? "input" : "loop", created_at: at(checkpoint * 1000), next: [], tags: [],
    tasks: isEnd ? [] : Array.from({ length: run.tasks }, (_, nth) => task(run, checkpoint, nth)),
  };
  entries.set(key, made);
  return made;
}

function page(run: MadeRun, limit: number, before: number): Json {
  const newest = Math.min(run.checkpoints, before) - 1;
  const oldest = Math.max(newest - limit + 1, 0);
  const list = Array.from({ length: Math.max(newest - oldest + 1, 0) }, (_, nth) => entry(run, newest - nth));
  return { checkpoints: list, next: oldest === 0 ? null : oldest };
}

function records({ events = 0 }: MadeRun): Record<string, Json> {
  const messages = Array.from({ length: events / 2 }, (_, nth) => ({ at: at(nth), value: { step: nth, words: "a value that a node has emitted" } }));
  const list = Array.from({ length: events / 2 }, (_, nth) => ({ kind: "message", at: at(nth), index: nth }));
  return { journal: { children: [], entries: [], messages, questions: [] }, events: list };
}

/** A state: a list of records, a text, and a few numbers. */
function level(run: MadeRun, path: string, limit: number, after: number, isFull: boolean): Json {
  const size = run.state ?? 1000;
  const count = Math.ceil(size / 2 / 100);
  const text = "all the words of a report ".repeat(Math.ceil(size / 2 / 26));
  const parts = path.split("/").slice(1);
  if (parts.length === 0) {
    const entries = [{ key: "items", type: "array", count, size: size / 2, preview: null }, { key: "report", type: "string", count: text.length, size: text.length, preview: `"${text.slice(0, 60)}` }, { key: "total", type: "number", count: null, size: 2, preview: "12" }];
    return { path, type: "object", size, count: entries.length, entries, next: null };
  }
  if (parts[0] === "report") return isFull ? { path, type: "string", size: text.length, count: text.length, value: text } : { path, type: "string", size: text.length, count: text.length, value: text.slice(0, 65_536), cut: true };
  if (parts.length === 1) {
    const to = Math.min(after + limit, count);
    const list = Array.from({ length: to - after }, (_, nth) => ({ key: String(after + nth), type: "object", count: 3, size: 100, preview: null }));
    return { path, type: "array", size: size / 2, count, entries: list, next: to < count ? to : null };
  }
  return { path, type: "object", size: 100, count: 3, entries: ["id", "name", "words"].map((key) => ({ key, type: "string", count: 10, size: 12, preview: '"a word"' })), next: null };
}

/** Layers of nodes, each joined to some of the next. */
function drawing(count: number): Json {
  const name = (nth: number): string => `node ${nth}`;
  const nodes = [{ id: "__start__" }, ...Array.from({ length: count - 2 }, (_, nth) => ({ id: name(nth), data: { name: name(nth) } })), { id: "__end__" }];
  const edges: Json[] = [{ source: "__start__", target: name(0) }, { source: name(count - 3), target: "__end__" }];
  const wide = count > 50 ? 6 : 1;
  for (let nth = 0; nth < count - 2; nth += 1) {
    const next = nth + wide;
    if (next < count - 2) edges.push({ source: name(nth), target: name(next) });
    if (wide > 1 && nth % wide !== 0) edges.push({ source: name(nth - 1), target: name(nth + wide < count - 2 ? nth + wide : count - 3), conditional: nth % 3 === 0 });
  }
  return { nodes, edges };
}
