// A short text that stands for a longer one, which is copied when it is pressed. Knows no view.

import { useEffect, useState } from "preact/hooks";

import "./copy.css";

interface CopyProps {
  /** What is copied. */
  text: string;
  /** What is shown, if it is shorter. */
  children: string;
  /** What it is, for those who do not see it: `commit 1a2b3c4d5`. */
  label: string;
}

/** The time for which it is said that it was copied, in milliseconds. */
const SAID = 1500;

export function Copy({ text, children, label }: CopyProps) {
  const [state, setState] = useState<"copied" | "failed" | null>(null);
  useEffect(() => {
    if (state === null) return undefined;
    const timer = setTimeout(() => setState(null), SAID);
    return () => clearTimeout(timer);
  }, [state]);
  const copy = (): void => void copyText(text).then((isCopied) => setState(isCopied ? "copied" : "failed"));
  return (
    <span class="copy">
      <button type="button" class="copy-button" title={text} aria-label={`Copy ${label}`} onClick={copy}>
        {children}
      </button>
      <span class="copy-state" role="status" data-state={state ?? undefined}>
        {state === null ? "" : state === "copied" ? "Copied" : "Not copied"}
      </span>
    </span>
  );
}

/** Copies a text; a page that did not come over TLS has no clipboard but the one of a selection. */
async function copyText(text: string): Promise<boolean> {
  try {
    if (navigator.clipboard !== undefined) return await navigator.clipboard.writeText(text).then(() => true);
  } catch {
    // The selection is tried next.
  }
  const box = document.createElement("textarea");
  box.value = text;
  box.className = "visually-hidden";
  const before = document.activeElement as HTMLElement | null;
  document.body.append(box);
  box.select();
  const isCopied = document.execCommand("copy");
  box.remove();
  before?.focus();
  return isCopied;
}
