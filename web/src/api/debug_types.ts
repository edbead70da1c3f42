// The forms of what compares and repeats runs: differences of checkpoints, reports of verify and what-if, forks. Data only.

import type { Json } from "./types";

export interface DiffSide {
  thread: string;
  checkpoint: number;
  step: number;
  source: string;
  next: string[];
}

export type PatchEdit =
  | { op: "add"; path: string; value: Json }
  | { op: "remove"; path: string; old: Json }
  | { op: "replace"; path: string; value: Json; old: Json };

export interface ChannelChange {
  channel: string;
  change: "added" | "removed" | "changed" | "secret";
  patch: PatchEdit[];
}

export interface DiffQuestion {
  id: string;
  name: string;
  node: string;
  payload: Json;
}

export interface StateDiff {
  from: DiffSide;
  to: DiffSide;
  channels: ChannelChange[];
  asked: DiffQuestion[];
  gone: DiffQuestion[];
  subgraphs: { node: string; began?: DiffSide; ended?: DiffSide; diff?: StateDiff }[];
}

export interface Divergence {
  checkpoint: number;
  step: number;
  namespace?: string[];
  /** Several, joined by commas, where it is not known which. */
  node: string;
  /** The id of the task, where one task differs. */
  task?: string;
  what: string;
  recorded: Json;
  now: Json;
}

export interface NotCompared {
  step: number;
  namespace?: string[];
  node: string;
  why: string;
}

export interface VerifyReport {
  verdict: "same" | "same_in_part" | "nothing_compared" | "different";
  verified: number;
  bodies: number;
  routers: number;
  not_verified: NotCompared[];
  divergence: Divergence | null;
}

export interface WhatIfReport {
  supersteps: number;
  differences: Divergence[];
  taken: NotCompared[];
  stopped: NotCompared | null;
  state: Json;
  next: string[];
}

export interface ForkResult {
  thread: string;
  checkpoint: string | number | null;
  next: string[];
}
