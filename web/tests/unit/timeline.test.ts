import { describe, expect, test } from "vitest";

import { hasSummary, isNoise, makeScale, rowText, spanOf, summaryText, timelineRows } from "../../src/fold/timeline";
import { at, checkpoint, order, task } from "./run_fixtures";

const ALL = { isNoiseShown: true, open: new Set<string>(), inside: new Map() };
const QUIET = { ...ALL, isNoiseShown: false };

describe("rows", () => {
  const line = order().reverse();

  test("a row for each task, START hidden unless wanted", () => {
    expect(timelineRows(line, QUIET).map(({ key, step, isFirst, lanes }) => [key, step, isFirst, lanes])).toEqual([
      ["2:2-0", 1, true, 1],
      ["3:3-0", 2, true, 2],
      ["3:3-1", 2, false, 2],
      ["4:4-0", 3, true, 1],
    ]);
    expect(timelineRows(line, ALL)).toHaveLength(5);
  });

  test("tasks of an open subgraph follow their task", () => {
    const inside = [checkpoint(7, null, -1, [task("7-0", "__start__", [0, 0])]), checkpoint(8, 7, 0, [task("8-0", "Box", [1000, 1200])])];
    const rows = timelineRows(line, { ...QUIET, open: new Set(["3:3-0"]), inside: new Map([["3:3-0", inside]]) });
    expect(rows.map(({ key, within }) => [key, within])).toEqual([["2:2-0", []], ["3:3-0", []], ["8:8-0", ["3:3-0"]], ["3:3-1", []], ["4:4-0", []]]);
  });

  test("noise is what left nothing behind", () => {
    const done = task("2-0", "Check", [0, 1]);
    expect(isNoise(done)).toBe(false);
    expect(isNoise({ ...done, writes: 0 })).toBe(true);
    for (const more of [{ effects: 1 }, { questions: 1 }, { has_inside: true }, { attempts: 2 }, { status: "failed" as const }]) expect(isNoise({ ...done, writes: 0, ...more })).toBe(false);
  });

  test("a row in words", () => {
    const rows = timelineRows(line, QUIET);
    expect(rows.map((row) => rowText(row, null))).toEqual(["Check, superstep 1, ran, 1.00 s", "Pack, superstep 2, ran, 500 ms", "Pack, superstep 2, ran, 1.00 s, attempt 2", "Approve, superstep 3, waits"]);
    const running = timelineRows([checkpoint(2, 1, 0, [task("2-0", "Check", null, { status: "pending", started_at: at(0), label: "tea" })])], QUIET);
    expect(rowText(running[0]!, Date.parse(at(3000)))).toBe("Check, tea, superstep 1, running, 3.00 s");
    expect(rowText(running[0]!, null)).toBe("Check, tea, superstep 1, not started, 0.0 ms");
    const dear = timelineRows([checkpoint(2, 1, 0, [task("2-0", "Check", [0, 1000], { cost: 12_500, summary: "It is tea." })])], QUIET);
    expect(rowText(dear[0]!, null)).toBe("Check, superstep 1, ran, 1.00 s, $0.0125, It is tea.");
  });
});

test.each([
  [{ label: "tea", summary: "It is tea.", cost: 12_500 }, true, "It is tea. · $0.0125"],
  [{ label: "tea" }, true, "tea"],
  [{ label: null, summary: "", cost: 12_500 }, false, "$0.0125"],
  [{}, false, ""],
])("the summary of a task with %j", (more, has, text) => {
  const brief = task("2-0", "Check", [0, 1000], more);
  expect([hasSummary(brief), summaryText(brief)]).toEqual([has, text]);
});

describe("the axis", () => {
  test("a task that runs ends now, one that waits where it began", () => {
    const running = task("2-0", "Check", null, { status: "pending", started_at: at(0) });
    expect(spanOf(running, Date.parse(at(500)))).toEqual({ from: Date.parse(at(0)), to: Date.parse(at(500)) });
    expect(spanOf({ ...running, status: "interrupted" }, Date.parse(at(500)))).toEqual({ from: Date.parse(at(0)), to: Date.parse(at(0)) });
    expect(spanOf(task("2-0", "Check", null), 0)).toBeNull();
  });

  test("is even where something runs all the time", () => {
    const { place, gaps, millis } = makeScale([{ from: 0, to: 400 }, { from: 300, to: 1000 }]);
    expect([gaps, millis]).toEqual([[], 1000]);
    expect([place(0), place(500), place(1000)]).toEqual([0, 0.5, 1]);
  });

  test("an hour without work is cut", () => {
    const hour = 3_600_000;
    const { place, gaps, busy, millis } = makeScale([{ from: hour, to: hour + 1000 }, { from: 0, to: 1000 }]);
    expect([busy, millis]).toEqual([2000, hour + 1000]);
    expect(gaps).toMatchObject([{ width: 0.05, millis: hour - 1000 }]);
    expect(gaps[0]?.at).toBeCloseTo(0.475);
    expect(place(1000)).toBeCloseTo(0.475);
    expect(place(hour)).toBeCloseTo(0.525);
    expect(place(hour / 2)).toBeGreaterThan(0.475);
    expect(place(hour / 2)).toBeLessThan(0.525);
    expect(place(hour + 1000)).toBe(1);
  });

  test("many gaps leave room for the work, and places never go back", () => {
    const spans = Array.from({ length: 100 }, (_, nth) => ({ from: nth * 100_000, to: nth * 100_000 + 1000 }));
    const { place, gaps } = makeScale(spans);
    expect(gaps.reduce((sum, { width }) => sum + width, 0)).toBeCloseTo(0.3);
    const places = spans.flatMap(({ from, to }) => [place(from), place(to)]);
    expect(places.every((value, nth) => nth === 0 || value >= places[nth - 1]!)).toBe(true);
    expect(places.at(-1)).toBeCloseTo(1);
  });

  test("nothing at all has an axis too", () => {
    expect(makeScale([]).place(5)).toBe(0);
  });
});
