// The end of a what-if beside the record. Knows no request.

import type { NotCompared } from "../api/debug_types";
import type { CheckpointEntry } from "../api/run_types";
import type { Json, JsonObject } from "../api/types";
import { isObject } from "./schema";

export interface ChangedChannel {
  channel: string;
  before: Json | undefined;
  after: Json | undefined;
}

/** Returns the checkpoint that is at the same place as the end: the last one, or that before the superstep in which it stopped. */
export function recordedEnd(line: CheckpointEntry[], stopped: NotCompared | null): CheckpointEntry | undefined {
  const place = stopped === null ? undefined : line.findLast(({ step }) => step === stopped.step - 1);
  return place ?? line.at(-1);
}

/** Returns the channels that differ. A channel without a value is null in one of the states, and left out in the other. */
export function changedChannels(before: Json, after: Json): ChangedChannel[] {
  const [old, now] = [objectOf(before), objectOf(after)];
  const names = [...new Set([...Object.keys(old), ...Object.keys(now)])];
  const all = names.map((channel) => ({ channel, before: old[channel] ?? undefined, after: now[channel] ?? undefined }));
  return all.filter((one) => canonical(one.before) !== canonical(one.after));
}

function objectOf(state: Json): JsonObject {
  return isObject(state) ? state : {};
}

/** JSON whose keys are in order, as the two states come from different writers. */
function canonical(value: Json | undefined): string {
  return JSON.stringify(value ?? null, (_, inner: Json) => (isObject(inner) ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1))) : inner));
}
