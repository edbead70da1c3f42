// The forms of what the server sends, as far as the page reads them: those of LangGraph's API and of superstep's own routes. Data only.

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
export type JsonObject = { [name: string]: Json };
/** A JSON Schema; the page reads the parts that it knows. */
export type Schema = { [name: string]: Json };

export interface Vote {
  by: string | null;
  at: string;
  note: string | null;
  value: Json;
}

/** Who may answer a question, until when, and what happens then. */
export interface Terms {
  name: string;
  node: string;
  expires: string | null;
  default: Json;
  approvals: number;
  approvers: string[];
  votes: Vote[];
}

/** A question as a person answers it. */
export interface Ask {
  id: string;
  value: Json;
  superstep: Terms;
  response_schema: Schema | null;
  payload_schema: Schema | null;
  /** The question in the words of its program. */
  text: string | null;
  /** The text that may be edited to answer it. */
  draft: string | null;
  /** Set if the client that started the run is not offered it. */
  people_only: boolean;
  /** The answers that stand for the words of the command line. */
  replies: { approve?: Json; reject?: Json; revise?: Json };
  /** Set if a part of it was too long, and was cut. */
  cut?: boolean;
}

export type ItemKind = "question" | "failed" | "needs-migration" | "untrusted" | "damaged" | "stalled";

/** One thing that waits for a person. */
export interface InboxItem {
  kind: ItemKind;
  thread: string;
  graph: string;
  since: string;
  step: number | null;
  title?: string | null;
  reason?: string | null;
  help?: string | null;
  /** Set if another run without input may help. */
  retry?: boolean | null;
  question?: Ask | null;
}

export interface InboxPage {
  items: InboxItem[];
  next: string | null;
  waiting: number;
}

export interface Problem {
  id: string;
  text: string;
}

/** What there is to say to an answer before it is sent: why it would be refused, and what its author probably did not mean. */
export interface Checked {
  problems: Problem[];
  remarks: Problem[];
}

export interface Thread {
  thread_id: string;
  created_at: string;
  updated_at: string;
  metadata: JsonObject;
  status: "idle" | "busy" | "interrupted" | "error";
  values: JsonObject | null;
  interrupts: Record<string, { id: string; value: Json; superstep: Terms }[]>;
  error: { error: string; message: string } | null;
}

export interface Assistant {
  assistant_id: string;
  graph_id: string;
  name: string;
  description: string | null;
  metadata: JsonObject;
}

export interface Drawing {
  nodes: { id: string; type?: string; data?: Json; metadata?: JsonObject }[];
  edges: { source: string; target: string; conditional?: boolean; data?: string }[];
}

export interface Cron {
  cron_id: string;
  assistant_id: string;
  thread_id: string | null;
  schedule: string;
  timezone: string | null;
  next_run_date: string | null;
  payload: JsonObject;
  enabled?: boolean;
}
