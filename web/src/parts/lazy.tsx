// What is built only while it is near the screen; before and after, an empty place of its height. Places are built one after the other, so
// that none of them keeps the page from answering.

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

type Watcher = (entry: IntersectionObserverEntry) => void;

const watchers = new Map<Element, Watcher>();
/** What has come or gone and was not looked at yet; the last word on each place. */
const moved = new Map<Element, IntersectionObserverEntry>();
let observer: IntersectionObserver | undefined;

interface LazyProps {
  /** The height that it probably has, in pixels. */
  height: number;
  id?: string;
  class?: string;
  children: () => ComponentChildren;
}

export function Lazy({ height, id, class: name, children }: LazyProps) {
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
    <div ref={place} id={id} class={name} style={isNear ? {} : { height: `${size.current}px` }}>
      {isNear && children()}
    </div>
  );
}

/** Calls the watcher whenever the element comes near the screen or leaves it; returns the function that ends it. */
function watch(element: Element, watcher: Watcher): () => void {
  observer ??= new IntersectionObserver(
    (entries) => {
      if (moved.size === 0) setTimeout(lookAtNext);
      for (const entry of entries) {
        moved.delete(entry.target);
        moved.set(entry.target, entry);
      }
    },
    { rootMargin: "400px 0px" },
  );
  watchers.set(element, watcher);
  observer.observe(element);
  return () => {
    watchers.delete(element);
    moved.delete(element);
    observer?.unobserve(element);
  };
}

function lookAtNext(): void {
  for (const [element, entry] of moved) {
    moved.delete(element);
    watchers.get(element)?.(entry);
    if (entry.isIntersecting) break;
  }
  if (moved.size > 0) setTimeout(lookAtNext);
}
