// Requests about one run. Knows no view.

import { PAGE } from "../fold/checkpoints";
import { loadInbox } from "./inbox";
import { isRecording } from "./recording";
import type { CheckpointPage, DiffReport, RunStatus, TaskDetail, ValueLevel } from "./run_types";
import { open, request } from "./source";
import { STREAMED } from "./streamed";
import type { Assistant, Drawing, InboxItem, JsonObject, Schema } from "./types";

/** Pages of what waits in one thread that are read: each has 500 items, or 8 MiB. */
const INBOX_PAGES = 20;

/** The parts of a level of a value. */
const PARTS = 200;

function threadPath(thread: string): string {
  return `/threads/${encodeURIComponent(thread)}`;
}

export function loadStatus(thread: string, signal?: AbortSignal): Promise<RunStatus> {
  return request(`${threadPath(thread)}/status`, { signal });
}

/** Loads all that waits in a thread. */
export async function loadThreadInbox(thread: string, signal?: AbortSignal): Promise<InboxItem[]> {
  return (await loadInbox(`${threadPath(thread)}/inbox`, INBOX_PAGES, signal)).items;
}

/** Where checkpoints are read, and how many. `within` leads into the subgraph of a task: `3:3-0`, of the outermost first. */
export interface CheckpointsPlace {
  before?: number | undefined;
  within?: string[];
  limit?: number;
}

/** Loads checkpoints, newest first. A file has them in whole pages. */
export function loadCheckpoints(thread: string, { before, within = [], limit = PAGE }: CheckpointsPlace, signal?: AbortSignal): Promise<CheckpointPage> {
  const query = [`limit=${isRecording() ? PAGE : limit}`, ...(before === undefined ? [] : [`before=${before}`]), ...within.map((key) => `within=${encodeURIComponent(key)}`)];
  return request(`${threadPath(thread)}/checkpoints?${query.join("&")}`, { signal });
}

/** Loads one level of a state. */
export function loadLevel(thread: string, checkpoint: string | number, path: string, after?: number, signal?: AbortSignal): Promise<ValueLevel> {
  const more = after === undefined ? "" : `&after=${after}`;
  return request(`${threadPath(thread)}/checkpoints/${checkpoint}/value?path=${encodeURIComponent(path)}&limit=${PARTS}${more}`, { signal });
}

/** Loads a text as a whole, up to the 8 MiB that a server sends at once. */
export function loadWhole(thread: string, checkpoint: string | number, path: string, signal?: AbortSignal): Promise<ValueLevel> {
  return request(`${threadPath(thread)}/checkpoints/${checkpoint}/value?path=${encodeURIComponent(path)}&full=true`, { signal });
}

export function loadDiff(thread: string, from: number, to: number, signal?: AbortSignal): Promise<DiffReport> {
  return request(`${threadPath(thread)}/diff?from=${from}&to=${to}`, { signal });
}

export function loadTask(thread: string, { checkpoint, task, within }: { checkpoint: string; task: string; within: string[] }, signal?: AbortSignal): Promise<TaskDetail> {
  const query = within.length === 0 ? "" : `?${within.map((key) => `within=${encodeURIComponent(key)}`).join("&")}`;
  return request(`${threadPath(thread)}/checkpoints/${encodeURIComponent(checkpoint)}/tasks/${encodeURIComponent(task)}${query}`, { signal });
}

/** Loads the drawing of a graph with all its subgraphs. The route is of an assistant: the first one that has the graph. */
export async function loadDrawing(graph: string, signal?: AbortSignal): Promise<Drawing> {
  const found = await request<Assistant[]>("/assistants/search", { method: "POST", body: { graph_id: graph, limit: 1 }, signal });
  const [assistant] = found;
  if (assistant === undefined) return { nodes: [], edges: [] };
  return request(`/assistants/${assistant.assistant_id}/graph?xray=true`, { signal });
}

/** Runs a thread on from where it is. */
export async function proceed(thread: string, graph: string): Promise<void> {
  await request(`${threadPath(thread)}/runs`, { method: "POST", body: { ...STREAMED, assistant_id: graph } });
}

interface ListedRun {
  run_id: string;
  status: string;
}

async function loadOpenRuns(thread: string, signal?: AbortSignal): Promise<ListedRun[]> {
  const runs = await request<ListedRun[]>(`${threadPath(thread)}/runs?limit=1000&select=run_id,status`, { signal });
  return runs.filter(({ status }) => status === "pending" || status === "running");
}

/** Returns whether a run of a thread is executed, or in the queue. */
export async function hasOpenRun(thread: string, signal?: AbortSignal): Promise<boolean> {
  return (await loadOpenRuns(thread, signal)).length > 0;
}

/** Ends the runs of a thread, those that have not started among them. */
export async function cancelRuns(thread: string): Promise<void> {
  const open = (await loadOpenRuns(thread)).map(({ run_id }) => run_id);
  if (open.length > 0) await request("/runs/cancel?action=interrupt", { method: "POST", body: { thread_id: thread, run_ids: open } });
}

/** Loads the file of a thread, for other stores. */
export async function loadExport(thread: string): Promise<Blob> {
  return (await open(`${threadPath(thread)}/export`)).blob();
}

/** Opens the events of a thread that come while it runs. */
export function openEvents(thread: string, channels: string[], since: number, signal: AbortSignal): Promise<Response> {
  return open(`${threadPath(thread)}/stream/events`, { method: "POST", body: { channels, since }, signal });
}

/** Loads a state whole. */
export async function loadState(thread: string, checkpoint: string | number, signal?: AbortSignal): Promise<JsonObject> {
  return (await request<{ values?: JsonObject | null }>(`${threadPath(thread)}/state/${checkpoint}`, { signal })).values ?? {};
}

/** Loads some channels of a state whole. */
export async function loadChannels(thread: string, checkpoint: string | number, channels: string[], signal?: AbortSignal): Promise<JsonObject> {
  const select = channels.map((name) => `values.${name}`).join(",");
  const { values } = await request<{ values?: JsonObject | null }>(`${threadPath(thread)}/state/${checkpoint}?select=${select}`, { signal });
  return values ?? {};
}

/** Loads the names of all channels that a thread may have: those of its state, and those of the schema of its graph, as not all are set. */
export async function loadChannelNames(thread: string, checkpoint: string | number, graph: string | undefined, signal?: AbortSignal): Promise<string[]> {
  const names = new Set<string>();
  let after: number | undefined;
  do {
    const level = await loadLevel(thread, checkpoint, "", after, signal);
    for (const { key } of level.entries ?? []) names.add(key);
    after = level.next ?? undefined;
  } while (after !== undefined);
  const schema = graph === undefined ? null : await loadStateSchema(graph, signal).catch(() => null);
  for (const name of Object.keys((schema?.["properties"] ?? {}) as JsonObject)) names.add(name);
  return [...names];
}

async function loadStateSchema(graph: string, signal?: AbortSignal): Promise<Schema | null> {
  const [assistant] = await request<Assistant[]>("/assistants/search", { method: "POST", body: { graph_id: graph, limit: 1 }, signal });
  if (assistant === undefined) return null;
  return (await request<{ state_schema: Schema | null }>(`/assistants/${assistant.assistant_id}/schemas`, { signal })).state_schema;
}
