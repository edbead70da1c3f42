// One review: its verdict, its words, its comments.

import type { ComponentChildren } from "preact";

import type { Review } from "../../fold/work";
import { Findings } from "../../parts/findings";
import { Visible } from "../../parts/visible";

export function ReviewNote({ review: { label, verdict, summary, comments }, children }: { review: Review; children?: ComponentChildren }) {
  return (
    <div class="stack work-part" role="group" aria-label={label}>
      <p class="row">
        <strong>{label}</strong>
        <span class="mark" data-kind={verdict.mark}>
          {verdict.text}
        </span>
        {children}
      </p>
      {summary !== null && (
        <p>
          <Visible text={summary} />
        </p>
      )}
      {comments.length > 0 && <Findings list={comments} label={`Comments: ${label}`} />}
    </div>
  );
}
