// What a view shows of the server: loaded, and loaded again when its thread has changed. Knows no route.

import { useEffect, useRef, useState } from "preact/hooks";

import { connected, listen, type Activity } from "./activity";
import { key } from "./key";

export interface Resource<T> {
  value: T | undefined;
  error: Error | undefined;
  isLoading: boolean;
  reload: () => void;
}

export interface Watch {
  /** Whether an event changes what was loaded; never, if it is left out. */
  changes?: (event: Activity) => boolean;
}

/**
 * Loads what `load` returns, again whenever `name` changes, an event fits or events were missed. The old value is shown until the new one is
 * there. A load that is under way when a change comes is followed by one more, so the last one always sees the change.
 */
export function useResource<T>(name: string, load: (signal: AbortSignal) => Promise<T>, watch: Watch = {}): Resource<T> {
  const [state, setState] = useState<{ name: string; value?: T; error?: Error }>({ name });
  const [isLoading, setLoading] = useState(true);
  const latest = useRef({ load, watch });
  latest.current = { load, watch };
  const run = useRef<() => void>(() => undefined);

  useEffect(() => {
    const stop = new AbortController();
    let [isBusy, isStale] = [false, false];
    const start = async (): Promise<void> => {
      isStale = isBusy;
      if (isBusy) return;
      isBusy = true;
      setLoading(true);
      try {
        await connected;
        const value = await latest.current.load(stop.signal);
        if (!stop.signal.aborted) setState({ name, value });
      } catch (cause) {
        const error = cause instanceof Error ? cause : new Error(String(cause));
        if (!stop.signal.aborted) setState((was) => (was.name === name ? { ...was, error } : { name, error }));
      }
      isBusy = false;
      if (stop.signal.aborted) return;
      setLoading(false);
      if (isStale) void start();
    };
    run.current = () => void start();
    void start();
    const unlisten = listen((events) => {
      const { changes } = latest.current.watch;
      if (events === null || (changes !== undefined && events.some(changes))) void start();
    });
    let isKnown = false;
    const unkey = key.subscribe(() => (isKnown ? queueMicrotask(() => void start()) : (isKnown = true)));
    return () => (stop.abort(), unlisten(), unkey());
  }, [name]);

  const isOwn = state.name === name;
  return { value: isOwn ? state.value : undefined, error: isOwn ? state.error : undefined, isLoading, reload: () => run.current() };
}
