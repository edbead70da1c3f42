// Answers on their way to the server. Knows no view.

import { request } from "./source";
import { STREAMED } from "./streamed";
import type { Checked, InboxItem, Json } from "./types";

export interface Given {
  answer: Json;
  note: string;
  by: string;
}

/** Answers a question: the run goes on at once, in whatever process. */
export async function sendAnswer({ thread, graph, question }: InboxItem, { answer, note, by }: Given): Promise<void> {
  const resume = { [question?.id ?? ""]: answer };
  const command = { resume, ...(note === "" ? {} : { note }), ...(by === "" ? {} : { by }) };
  await request(`/threads/${encodeURIComponent(thread)}/runs`, { method: "POST", body: { ...STREAMED, assistant_id: graph, command } });
}

/** Returns what there is to say to an answer; nothing is stored. */
export async function checkAnswer({ thread, question }: InboxItem, answer: Json, signal?: AbortSignal): Promise<Checked> {
  const body = { resume: { [question?.id ?? ""]: answer } };
  const { problems, remarks = [] } = await request<Partial<Checked>>(`/threads/${encodeURIComponent(thread)}/check`, { method: "POST", body, signal });
  return { problems: problems ?? [], remarks };
}
