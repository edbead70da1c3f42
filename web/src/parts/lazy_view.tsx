// Views whose code is loaded when they are shown for the first time.

import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";

import { ErrorNote, Loading } from "./notes";

/** Returns a component that shows the one that is loaded. */
export function lazyView<P extends object>(name: string, load: () => Promise<ComponentType<P>>): ComponentType<P> {
  let loaded: ComponentType<P> | undefined;
  return function LazyView(props: P) {
    const [error, setError] = useState<Error | null>(null);
    const [, draw] = useState(loaded !== undefined);
    const start = (): void => {
      setError(null);
      load().then((View) => ((loaded = View), draw(true)), (cause: Error) => setError(cause));
    };
    useEffect(() => {
      if (loaded === undefined) start();
    }, []);
    if (error !== null) return <ErrorNote error={error} onRetry={start} />;
    const View = loaded;
    return View === undefined ? <Loading what={name} /> : <View {...props} />;
  };
}
