// A text of any length as it is, in pieces that are built when they are scrolled to; and markdown, whose start comes first if it is long.

import { useMemo, useState } from "preact/hooks";

import { Button } from "./button";
import { Fold } from "./fold";
import { Lazy } from "./lazy";
import { Markdown } from "./markdown";
import { Visible } from "./visible";

/** Characters of a piece, and of markdown that is built at once. */
const PIECE = 6000;
const START = 20_000;

export function LongText({ text, label }: { text: string; label: string }) {
  const parts = useMemo(() => split(text), [text]);
  const piece = (part: string) => (
    <pre class="long-text">
      <Visible text={part} />
    </pre>
  );
  return (
    <Fold label={label}>
      <div class="long-block">{parts.length === 1 ? piece(text) : parts.map((part, at) => <Lazy key={at} height={18 * part.split("\n").length}>{() => piece(part)}</Lazy>)}</div>
    </Fold>
  );
}

export function LongMarkdown({ text, label }: { text: string; label: string }) {
  const [isWhole, setWhole] = useState(text.length <= START);
  return (
    <Fold label={label}>
      <Markdown text={isWhole ? text : text.slice(0, START)} />
      {!isWhole && (
        <Button kind="quiet" onClick={() => setWhole(true)}>
          {(text.length - START).toLocaleString("en")} characters more
        </Button>
      )}
    </Fold>
  );
}

/** Splits a text into pieces, between lines where there are some. */
function split(text: string): string[] {
  const parts: string[] = [];
  for (let from = 0; from < text.length || from === 0; ) {
    const line = text.lastIndexOf("\n", from + PIECE);
    const to = text.length - from <= PIECE ? text.length : line > from ? line + 1 : from + PIECE;
    parts.push(text.slice(from, to).replace(/\n$/, ""));
    if (to >= text.length) break;
    from = to;
  }
  return parts;
}
