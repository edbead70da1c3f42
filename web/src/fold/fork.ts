// The state of a fork as it is typed in. Knows no DOM.

import type { Json, JsonObject } from "../api/types";
import { isObject } from "./schema";

/** Returns the values as what channels have afterwards: a bare value would be reduced with the one that is there, as that of a node is. */
export function overwrites(values: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(values).map(([channel, value]) => [channel, isOverwrite(value) ? value : { $overwrite: value }]));
}

function isOverwrite(value: Json): boolean {
  return isObject(value) && Object.keys(value).join() === "$overwrite";
}

/** Returns why values cannot be those of a fork; null if they can. `channels` are null if they are not known. */
export function valuesProblem(values: Json | undefined, channels: string[] | null): string | null {
  if (values === undefined) return null;
  if (!isObject(values)) return 'This must be an object of channels, as {"topic": "tides"}.';
  const unknown = channels === null ? undefined : Object.keys(values).find((name) => !channels.includes(name));
  return unknown === undefined ? null : `\`${unknown}\` is no channel: ${(channels ?? []).join(", ")}.`;
}
