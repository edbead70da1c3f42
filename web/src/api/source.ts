// Requests to the server that the page came from, or to the answers in an exported file. Knows no route.

import { SERVER } from "./address";
import { isKeyWanted, key } from "./key";
import { readRecording, recordedAnswer, type Recording } from "./recording";

/** An answer that is an error: the server's own text, with its status; 0 if there was no answer. */
export class RequestError extends Error {
  constructor(
    readonly status: number,
    readonly what: string,
    detail: string,
  ) {
    super(detail);
  }
}

export interface Sent {
  method?: "GET" | "POST" | "PATCH" | "PUT" | "DELETE";
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal | undefined;
}

/** Sends a request and reads its answer as JSON. `path` begins with a slash. */
export async function request<T>(path: string, sent: Sent = {}): Promise<T> {
  const recording = readRecording();
  if (recording !== null) return recorded(recording, path, sent);
  const response = await open(path, sent);
  const text = await response.text();
  return (text === "" ? null : JSON.parse(text)) as T;
}

/** Sends a request; an answer that is an error is thrown. */
export async function open(path: string, sent: Sent = {}): Promise<Response> {
  const what = `${sent.method ?? "GET"} ${path}`;
  const init: RequestInit = { method: sent.method ?? "GET", headers: headers(sent), cache: "no-store", credentials: "omit" };
  if (sent.body !== undefined) init.body = sent.body instanceof Blob ? sent.body : JSON.stringify(sent.body);
  if (sent.signal !== undefined) init.signal = sent.signal;
  const response = await fetch(SERVER + path, init).catch((cause: unknown) => {
    if (sent.signal?.aborted) throw cause;
    throw new RequestError(0, what, "the server does not answer");
  });
  if (response.ok) return response;
  if (response.status === 401) isKeyWanted.value = true;
  throw new RequestError(response.status, what, await detail(response));
}

function headers({ body, headers = {} }: Sent): Record<string, string> {
  const all: Record<string, string> = { ...headers };
  if (key.value !== null) all["x-api-key"] = key.value;
  if (body !== undefined && !(body instanceof Blob)) all["content-type"] = "application/json";
  return all;
}

async function detail(response: Response): Promise<string> {
  const text = await response.text().catch(() => "");
  try {
    const { detail } = JSON.parse(text) as { detail?: unknown };
    return typeof detail === "string" ? detail : text;
  } catch {
    return text === "" ? `the answer has status ${response.status}` : text;
  }
}

function recorded<T>(recording: Recording, path: string, { method = "GET", body }: Sent): T {
  const what = body === undefined ? `${method} ${path}` : `${method} ${path} ${JSON.stringify(body)}`;
  const answer = recordedAnswer(recording, what);
  if (answer === undefined) throw new RequestError(404, what, "this file does not have it: only a server does");
  return answer as T;
}
