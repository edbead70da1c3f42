// A JSON value as text: short ones as they are, long ones to be opened. Knows no place.

import { useState } from "preact/hooks";

import type { Json } from "../api/types";
import { Visible } from "./visible";

/** Characters of a value that are shown at first. */
const SHOWN = 2000;

export function Value({ value }: { value: Json | undefined }) {
  const [isWhole, setWhole] = useState(false);
  if (value === undefined) return <span class="soft">nothing</span>;
  const text = typeof value === "string" ? value : JSON.stringify(value, null, 2);
  if (text.length <= SHOWN) return <pre class="value">{text === "" ? "(empty text)" : <Visible text={text} />}</pre>;
  return (
    <div class="stack">
      <pre class="value">
        <Visible text={isWhole ? text : `${text.slice(0, SHOWN)}…`} />
      </pre>
      <div>
        <button class="button" type="button" onClick={() => setWhole(!isWhole)}>
          {isWhole ? "Show less" : `Show all ${text.length.toLocaleString()} characters`}
        </button>
      </div>
    </div>
  );
}
