// Times as people read them, in an element that machines read too. Knows no view.

import { signal } from "@preact/signals";

import { agoText, untilText } from "../fold/time";

/** The time, moved on twice a minute. */
const clock = signal(Date.now());
setInterval(() => (clock.value = Date.now()), 30_000);

/** `5 min ago`, with the full time in its title. */
export function Ago({ at }: { at: string }) {
  return (
    <time dateTime={at} title={new Date(at).toLocaleString()}>
      {agoText(Date.parse(at), clock.value)}
    </time>
  );
}

/** `in 2 h`, or that the time is over. */
export function Until({ at }: { at: string }) {
  return (
    <time dateTime={at} title={new Date(at).toLocaleString()}>
      {untilText(Date.parse(at), clock.value)}
    </time>
  );
}
