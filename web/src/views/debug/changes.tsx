// The changes of a state, channel by channel, the old value beside the new one.

import type { StateDiff } from "../../api/debug_types";
import { changeGroups, questionNotes, subgraphNotes, type ChangeGroup, type ChangeRow } from "../../fold/changes";
import { Value } from "../../parts/value";
import { Visible } from "../../parts/visible";

const WORDS = { added: "added", removed: "removed", changed: "changed", secret: "secret" };
const MARKS = { added: "good", removed: "bad", changed: "accent", secret: "warn" };

export function Changes({ diff }: { diff: StateDiff }) {
  const [notes, questions] = [subgraphNotes(diff), questionNotes(diff)];
  return (
    <section class="stack" aria-label="Differences">
      {diff.from.next.join() !== diff.to.next.join() && (
        <p>
          Next: <Visible text={names(diff.from.next)} /> before, <Visible text={names(diff.to.next)} /> after.
        </p>
      )}
      {questions.length > 0 && (
        <ul>
          {questions.map(({ text, kind }) => (
            <li>
              {kind === "added" ? "Asked" : "No longer asked"}: <Visible text={text} />
            </li>
          ))}
        </ul>
      )}
      {notes.length > 0 && (
        <ul>
          {notes.map((note) => (
            <li><Visible text={note} /></li>
          ))}
        </ul>
      )}
      {changeGroups(diff).map((group) => (
        <Channel key={[...group.within, group.channel].join("/")} group={group} />
      ))}
    </section>
  );
}

function Channel({ group: { within, channel, rows } }: { group: ChangeGroup }) {
  return (
    <section class="card stack">
      <h2 class="change-channel"><Visible text={[...within, channel].join(" › ")} /></h2>
      {rows.map((row) => (
        <Row key={`${row.kind} ${row.place}`} row={row} />
      ))}
    </section>
  );
}

function Row({ row: { place, kind, before, after } }: { row: ChangeRow }) {
  return (
    <div class="change stack">
      <p class="row">
        <span class="mark" data-kind={MARKS[kind]}>
          {WORDS[kind]}
        </span>
        <code><Visible text={place} /></code>
      </p>
      {kind === "secret" ? (
        <p class="soft">The values differ, and are secret.</p>
      ) : (
        <div class="change-sides" data-kind={kind}>
          {kind !== "added" && (
            <div class="change-side" data-side="before">
              <Value value={before} />
            </div>
          )}
          {kind !== "removed" && (
            <div class="change-side" data-side="after">
              <Value value={after} />
            </div>
          )}
        </div>
      )}
    </div>
  );
}

function names(next: string[]): string {
  return next.length === 0 ? "nothing" : next.join(", ");
}
