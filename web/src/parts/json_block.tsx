// A value as text: short ones in the line, long ones cut until all of them is wanted. Knows no view.

import { useMemo, useState } from "preact/hooks";

import type { Json } from "../api/types";
import { Visible } from "./visible";

/** Characters and lines that are shown at first. */
const [CHARACTERS, LINES] = [1200, 14];

export function JsonBlock({ name, value }: { name: string; value: Json }) {
  const words = useMemo(() => (typeof value === "string" ? value : JSON.stringify(value, null, isFlat(value) ? undefined : 2)), [value]);
  return <TextBlock name={name} text={words} />;
}

/** A text that is cut if it is long. */
export function TextBlock({ name, text }: { name: string; text: string }) {
  const [isWhole, setWhole] = useState(false);
  const part = useMemo(() => cut(text), [text]);
  if (!text.includes("\n") && text.length < 80) return <code class="json-short">{text === "" ? '""' : <Visible text={text} />}</code>;
  return (
    <div class="json-block">
      <pre class="code-block" tabIndex={0} role="region" aria-label={name}>
        <Visible text={isWhole ? text : part} />
      </pre>
      {part.length < text.length && (
        <button class="json-more" type="button" aria-expanded={isWhole} onClick={() => setWhole(!isWhole)}>
          {isWhole ? "Show less" : `Show all ${text.length.toLocaleString("en")} characters`}
        </button>
      )}
    </div>
  );
}

function cut(text: string): string {
  const part = text.slice(0, CHARACTERS);
  const lines = part.split("\n");
  const short = lines.slice(0, LINES).join("\n");
  return short.length < text.length ? `${short}…`.slice(0, Math.max(text.length - 1, 0)) : text;
}

function isFlat(value: Json): boolean {
  return value === null || typeof value !== "object" || JSON.stringify(value).length < 80;
}
