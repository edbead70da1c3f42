// One difference between what was recorded and what the graph does now, with a link to its place.

import type { Divergence } from "../../api/debug_types";
import type { Json } from "../../api/types";
import { Value } from "../../parts/value";
import { href } from "../../routing/navigation";

export function DivergenceNote({ thread, divergence: found }: { thread: string; divergence: Divergence }) {
  return (
    <div class="note stack" data-kind="bad">
      <p>
        <a href={href({ view: "thread", thread, checkpoint: String(found.checkpoint) })}>Superstep {found.step}</a>, <code>{[...(found.namespace ?? []), found.node].join(" › ")}</code>: {found.what}
      </p>
      <RecordedAndNow recorded={found.recorded ?? undefined} now={found.now ?? undefined} />
    </div>
  );
}

/** A recorded value beside that of the present graph. */
export function RecordedAndNow({ recorded, now }: { recorded: Json | undefined; now: Json | undefined }) {
  return (
    <div class="change-sides" data-kind="changed">
      <div class="change-side" data-side="before">
        <h4>Recorded</h4>
        <Value value={recorded} />
      </div>
      <div class="change-side" data-side="after">
        <h4>Now</h4>
        <Value value={now} />
      </div>
    </div>
  );
}
