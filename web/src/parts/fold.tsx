// What is long shows its start first, and the rest on request.

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

import { Button } from "./button";

export function Fold({ label, children }: { label: string; children: ComponentChildren }) {
  const body = useRef<HTMLDivElement>(null);
  const [isOpen, setOpen] = useState(false);
  const [isCut, setCut] = useState(false);
  useLayoutEffect(() => {
    const element = body.current;
    if (element === null) return undefined;
    const measure = (): void => setCut(element.scrollHeight > element.clientHeight + 8);
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, [children]);
  return (
    <div class="fold" data-open={isOpen} data-cut={isCut && !isOpen}>
      <div class="fold-body" ref={body}>
        {children}
      </div>
      {(isCut || isOpen) && (
        <Button kind="quiet" class="fold-button" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {isOpen ? "Show less of" : "Show all of"} {label}
        </Button>
      )}
    </div>
  );
}
