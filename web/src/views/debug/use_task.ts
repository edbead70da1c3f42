// A request that is sent once, when its panel opens, and given up when it closes.

import { useEffect, useState } from "preact/hooks";

export interface Task<T> {
  value: T | undefined;
  error: Error | undefined;
}

export function useTask<T>(name: string, run: (signal: AbortSignal) => Promise<T>): Task<T> {
  const [state, setState] = useState<Task<T>>({ value: undefined, error: undefined });
  useEffect(() => {
    const stop = new AbortController();
    setState({ value: undefined, error: undefined });
    run(stop.signal).then(
      (value) => !stop.signal.aborted && setState({ value, error: undefined }),
      (error: Error) => !stop.signal.aborted && setState({ value: undefined, error }),
    );
    return () => stop.abort();
  }, [name]);
  return state;
}
