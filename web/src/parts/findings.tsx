// Findings of reviewers and verifiers, the grave ones first.

import { useMemo, useState } from "preact/hooks";

import type { Json } from "../api/types";
import { findingsOf, type Finding } from "../fold/findings";
import { Button } from "./button";
import { Visible } from "./visible";

const SHOWN = 30;

export function Findings({ list, label = "Findings" }: { list: Json[]; label?: string }) {
  const all = useMemo(() => findingsOf(list), [list]);
  const [isWhole, setWhole] = useState(false);
  const shown = isWhole ? all : all.slice(0, SHOWN);
  return (
    <>
      <ul role="list" class="findings" aria-label={label}>
        {shown.map((finding, at) => (
          <One key={at} finding={finding} />
        ))}
      </ul>
      {shown.length < all.length && (
        <div>
          <Button kind="quiet" onClick={() => setWhole(true)}>
            Show {all.length - shown.length} more
          </Button>
        </div>
      )}
    </>
  );
}

function One({ finding }: { finding: Finding }) {
  const { grade, severity, place, source, kind, mark, why, fix, excerpt } = finding;
  return (
    <li class="finding" data-grade={grade}>
      <p class="finding-head">
        {severity !== null && (
          <span class="mark" data-kind={grade === "info" ? undefined : grade}>
            {severity}
          </span>
        )}
        {place !== null && (
          <code class="finding-place">
            <Visible text={place} />
          </code>
        )}
        {source !== null && <span class="soft">{source}</span>}
        {kind !== null && <span class="soft">{kind}</span>}
        {mark !== null && (
          <code class="soft" title="Its identity across attempts">
            {mark}
          </code>
        )}
      </p>
      <p class="finding-text">
        <Visible text={finding.text} />
      </p>
      {why !== null && <Aside name="Why" text={why} />}
      {fix !== null && <Aside name="Suggestion" text={fix} />}
      {excerpt !== null && (
        <pre class="finding-excerpt">
          <Visible text={excerpt.slice(0, 4000)} />
        </pre>
      )}
    </li>
  );
}

function Aside({ name, text }: { name: string; text: string }) {
  return (
    <p class="finding-aside">
      <span class="soft">{name}:</span> <Visible text={text} />
    </p>
  );
}
