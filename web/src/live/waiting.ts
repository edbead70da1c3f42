// The number of things that wait for a person, which the frame shows on every view. Knows no view.

import { effect, signal } from "@preact/signals";

import { listen } from "../api/activity";
import { isKeyWanted, key } from "../api/key";
import { isRecording } from "../api/recording";
import { request } from "../api/source";
import type { InboxPage } from "../api/types";
import { whileVisible } from "./look";

export const waiting = signal(0);

/** Keeps the number true for as long as the page is open. */
export function countWaiting(): void {
  if (isRecording()) return;
  let [isBusy, isStale] = [false, false];
  const count = async (): Promise<void> => {
    isStale = isBusy;
    if (isBusy || isKeyWanted.value) return;
    isBusy = true;
    await request<InboxPage>("/inbox?limit=1").then(({ waiting: all }) => (waiting.value = all), () => undefined);
    isBusy = false;
    if (isStale) void count();
  };
  listen((events) => {
    if (events === null || events.some(({ kind }) => kind !== "position")) void count();
  });
  // A run that nothing runs has no event.
  whileVisible(() => void count());
  effect(() => {
    key.value;
    void count();
  });
}
