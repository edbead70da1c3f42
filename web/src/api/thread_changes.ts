// Tells a view that its thread has changed: at once, and then a few times a second at most. Knows no request.

import { useEffect, useRef } from "preact/hooks";

import { listen } from "./activity";

/** The pause between two changes, in milliseconds. */
const PAUSE = 300;

/** Calls `onChange` after changes of a thread, and after events were missed. */
export function useThreadChanges(thread: string, onChange: () => void): void {
  const latest = useRef(onChange);
  latest.current = onChange;
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let last = -PAUSE;
    const notify = (): void => {
      timer = undefined;
      last = performance.now();
      latest.current();
    };
    const stop = listen((events) => {
      const isOwn = events === null || events.some((event) => event.thread === thread);
      if (isOwn) timer ??= setTimeout(notify, Math.max(last + PAUSE - performance.now(), 0));
    });
    return () => (clearTimeout(timer), stop());
  }, [thread]);
}
