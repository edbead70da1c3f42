// What a run may cost, as far as its input says: shown before it starts.

import type { Json, Schema } from "../../api/types";
import { limitsOf, profilesOf } from "../../fold/start";

export function LimitsNote({ schema, value }: { schema: Schema; value: Json | undefined }) {
  const [limits, profiles] = [limitsOf(schema, value), profilesOf(schema)];
  if (limits.length === 0 && profiles.length === 0) return null;
  return (
    <section class="note stack start-limits" aria-label="What it may cost">
      <h3>What it may cost</h3>
      {limits.length > 0 && (
        <dl class="facts">
          {limits.map((limit) => [<dt>{limit.name}</dt>, <dd>{limit.value ?? <span class="soft">no limit here</span>}</dd>])}
        </dl>
      )}
      {profiles.length > 0 && <p class="soft">The file in {profiles.map((name) => `“${name}”`).join(", ")} may set budgets: the run stops where one is reached, and asks in the inbox.</p>}
    </section>
  );
}
