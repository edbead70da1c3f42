// Spans of time in words. Times are in milliseconds.

const STEPS: [limit: number, unit: number, word: string][] = [
  [60_000, 1000, "s"],
  [3_600_000, 60_000, "min"],
  [86_400_000, 3_600_000, "h"],
  [Infinity, 86_400_000, "d"],
];

/** `12 s`, `5 min`, `3 h`, `8 d`. */
export function spanText(millis: number): string {
  const [, unit, word] = STEPS.find(([limit]) => millis < limit) ?? [0, 86_400_000, "d"];
  return `${Math.floor(Math.max(millis, 0) / unit)} ${word}`;
}

export function agoText(at: number, now: number): string {
  return now - at < 5000 ? "just now" : `${spanText(now - at)} ago`;
}

export function untilText(at: number, now: number): string {
  return at <= now ? "expired" : `in ${spanText(at - now)}`;
}

/** `0.4 ms`, `12 ms`, `1.25 s`, `3 min 5 s`. */
export function durationText(millis: number): string {
  if (millis < 1) return `${millis.toFixed(1)} ms`;
  if (millis < 1000) return `${Math.round(millis)} ms`;
  if (millis < 60_000) return `${(millis / 1000).toFixed(2)} s`;
  const minutes = Math.floor(millis / 60_000);
  return minutes < 60 ? `${minutes} min ${Math.round((millis % 60_000) / 1000)} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
