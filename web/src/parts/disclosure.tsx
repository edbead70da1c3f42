// What is shown on request: a button, and what it opens.

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";

interface DisclosureProps {
  label: string;
  isOpenAtFirst?: boolean;
  children: () => ComponentChildren;
}

export function Disclosure({ label, isOpenAtFirst = false, children }: DisclosureProps) {
  const [isOpen, setOpen] = useState(isOpenAtFirst);
  return (
    <div class="disclosure stack">
      <button type="button" class="disclosure-button" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <span class="diff-arrow" aria-hidden="true" />
        {label}
      </button>
      {isOpen && children()}
    </div>
  );
}
