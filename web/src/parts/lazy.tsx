// What is built only while it is near the screen; before and after, an empty place of its height.

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

type Watcher = (entry: IntersectionObserverEntry) => void;

const watchers = new WeakMap<Element, Watcher>();
let observer: IntersectionObserver | undefined;

interface LazyProps {
  /** The height that it probably has, in pixels. */
  height: number;
  children: () => ComponentChildren;
}

export function Lazy({ height, children }: LazyProps) {
  const place = useRef<HTMLDivElement>(null);
  const size = useRef(height);
  const [isNear, setNear] = useState(false);
  useEffect(() => {
    const element = place.current;
    if (element === null) return undefined;
    return watch(element, ({ isIntersecting, boundingClientRect }) => {
      if (!isIntersecting && boundingClientRect.height > 0) size.current = boundingClientRect.height;
      setNear(isIntersecting);
    });
  }, []);
  return (
    <div ref={place} style={isNear ? {} : { height: `${size.current}px` }}>
      {isNear && children()}
    </div>
  );
}

/** Calls the watcher whenever the element comes near the screen or leaves it; returns the function that ends it. */
function watch(element: Element, watcher: Watcher): () => void {
  observer ??= new IntersectionObserver((entries) => entries.forEach((entry) => watchers.get(entry.target)?.(entry)), { rootMargin: "500px 0px" });
  watchers.set(element, watcher);
  observer.observe(element);
  return () => {
    watchers.delete(element);
    observer?.unobserve(element);
  };
}
