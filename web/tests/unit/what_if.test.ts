import { describe, expect, test } from "vitest";

import { changedChannels, recordedEnd } from "../../src/fold/what_if";
import { order } from "./run_fixtures";

describe("the end of a what-if", () => {
  const line = order().reverse();
  const stopped = (step: number) => ({ step, node: "Pack", why: "it has no record" });

  test.each([
    ["is compared with the last checkpoint", null, 4],
    ["is compared with the checkpoint before the superstep in which it stopped", stopped(2), 3],
    ["is compared with the last checkpoint if it ran further than the record", stopped(9), 4],
  ])("%s", (_, at, expected) => expect(recordedEnd(line, at)?.checkpoint).toBe(expected));

  test.each([
    ["values that are the same", { n: 1, map: { a: 1, b: 2 } }, { n: 1, map: { b: 2, a: 1 } }, []],
    ["a value", { n: 1, m: 2 }, { n: 3, m: 2 }, [{ channel: "n", before: 1, after: 3 }]],
    ["a channel that one of them leaves out", { n: 1 }, { n: 1, total: 5, none: null }, [{ channel: "total", before: undefined, after: 5 }]],
    ["a state that is no object", null, { n: 1 }, [{ channel: "n", before: undefined, after: 1 }]],
  ])("differs in its channels: %s", (_, before, after, changed) => expect(changedChannels(before, after)).toEqual(changed));
});
