// What is done to threads: to several at once, one request after another, a few at a time, and what became of each. Knows no list.

import { request } from "../../api/source";
import type { Outcome } from "../../fold/threads";

const AT_A_TIME = 4;
const ENDED_OR_NOT = { pending: true, running: true } as Record<string, boolean>;

/** Ends the runs of a thread; what they have stored stays. */
export async function cancelThread(thread: string): Promise<void> {
  const runs = await request<{ run_id: string; status: string }[]>(`/threads/${encodeURIComponent(thread)}/runs?limit=1000`);
  const open = runs.filter(({ status }) => ENDED_OR_NOT[status] === true).map(({ run_id }) => run_id);
  if (open.length === 0) throw new Error("it has no run that this server could cancel");
  await request("/runs/cancel", { method: "POST", body: { thread_id: thread, run_ids: open } });
}

export async function deleteThread(thread: string): Promise<void> {
  await request(`/threads/${encodeURIComponent(thread)}`, { method: "DELETE" });
}

/** Stores a file that was exported, and returns the name of its thread: the one in the file, unless another is given. */
export async function importThread(file: Blob, name?: string): Promise<string> {
  const query = name === undefined ? "" : `?${new URLSearchParams({ thread: name })}`;
  return (await request<{ thread: string }>(`/threads/import${query}`, { method: "POST", body: file })).thread;
}

/** Does the same to each thread, and returns what became of it. */
export async function changeAll(threads: string[], change: (thread: string) => Promise<void>): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  const left = [...threads];
  const work = async (): Promise<void> => {
    for (let thread = left.shift(); thread !== undefined; thread = left.shift()) {
      const error = await change(thread).then(() => null, (cause: unknown) => (cause instanceof Error ? cause.message : String(cause)));
      outcomes.push({ thread, error });
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, work));
  return outcomes.sort((a, b) => threads.indexOf(a.thread) - threads.indexOf(b.thread));
}
