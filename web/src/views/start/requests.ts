// What starting a run asks of the server. Knows no element.

import { loadCheckpoints } from "../../api/run";
import { RequestError, request } from "../../api/source";
import { STREAMED } from "../../api/streamed";
import type { Assistant, Cron, Json, JsonObject, Schema } from "../../api/types";
import { startable, type GraphInfo, type StartableGraph } from "../../fold/start";

/** Returns all graphs. A server that does not describe them has their assistants. */
export async function loadGraphs(signal: AbortSignal): Promise<StartableGraph[]> {
  const assistants = request<Assistant[]>("/assistants/search", { method: "POST", body: { limit: 1000 }, signal });
  const graphs = request<GraphInfo[]>("/graphs", { signal }).catch((cause: unknown) => {
    if (cause instanceof RequestError && cause.status === 404) return [];
    throw cause;
  });
  return startable(await graphs, await assistants);
}

/** Returns the schema of an assistant's input; null for one that has none. */
export async function loadInput(assistant: string, signal: AbortSignal): Promise<Schema | null> {
  const { input_schema } = await request<{ input_schema: Schema | null }>(`/assistants/${encodeURIComponent(assistant)}/schemas`, { signal });
  return input_schema;
}

/** A request for the runs of a thread reads the newest of them, and one for its checkpoints too. */
const NEWEST = 100;

/** Returns the newest input of a thread; null if the server does not tell it. */
export async function loadEarlierInput(thread: string, signal: AbortSignal): Promise<Json> {
  const runs = await request<{ kwargs: { input: Json } }[]>(`/threads/${encodeURIComponent(thread)}/runs?limit=${NEWEST}&select=kwargs`, { signal });
  return runs.find(({ kwargs }) => kwargs.input !== null)?.kwargs.input ?? loadStoredInput(thread, signal);
}

/** Returns the newest input of a thread that another program runs: what its START has written. */
async function loadStoredInput(thread: string, signal: AbortSignal): Promise<Json> {
  const { checkpoints } = await loadCheckpoints(thread, { limit: NEWEST }, signal);
  const made = checkpoints.find(({ source }) => source === "input");
  if (made === undefined) return null;
  const { tasks } = await request<{ tasks: { name: string; result: Json }[] }>(`/threads/${encodeURIComponent(thread)}/state/${made.checkpoint}?select=tasks`, { signal });
  return tasks.find(({ name }) => name === "__start__")?.result ?? null;
}

export async function isThreadThere(thread: string): Promise<boolean> {
  return request(`/threads/${encodeURIComponent(thread)}`).then(
    () => true,
    (cause: unknown) => {
      if (cause instanceof RequestError && cause.status === 404) return false;
      throw cause;
    },
  );
}

export async function startRun(thread: string, assistant: string, input: Json): Promise<void> {
  await request(`/threads/${encodeURIComponent(thread)}/runs`, { method: "POST", body: { ...STREAMED, assistant_id: assistant, if_not_exists: "create", input } });
}

export function loadCrons(signal: AbortSignal): Promise<Cron[]> {
  return request<Cron[]>("/runs/crons/search", { method: "POST", body: { limit: 1000, sort_by: "next_run_date", sort_order: "asc" }, signal });
}

export interface Schedule {
  schedule: string;
  timezone: string;
  keepsThreads: boolean;
}

export function createCron(assistant: string, input: Json, { schedule, timezone, keepsThreads }: Schedule): Promise<Cron> {
  const body: JsonObject = { ...STREAMED, assistant_id: assistant, input, schedule, on_run_completed: keepsThreads ? "keep" : "delete" };
  return request<Cron>("/runs/crons", { method: "POST", body: timezone === "" ? body : { ...body, timezone } });
}

export function enableCron(cron: string, isEnabled: boolean): Promise<Cron> {
  return request<Cron>(`/runs/crons/${cron}`, { method: "PATCH", body: { enabled: isEnabled } });
}

export async function deleteCron(cron: string): Promise<void> {
  await request(`/runs/crons/${cron}`, { method: "DELETE" });
}
