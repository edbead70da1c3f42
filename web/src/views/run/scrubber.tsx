// The checkpoints of a run under a slider. The address follows it.

import { useMemo } from "preact/hooks";

import type { CheckpointEntry } from "../../api/run_types";
import { checkpointText, originText, type Branch } from "../../fold/checkpoints";
import { useKeys } from "../../parts/keys";
import { Slider } from "../../parts/slider";
import { Ago } from "../../parts/time";
import { go, href } from "../../routing/navigation";

interface ScrubberProps {
  thread: string;
  line: CheckpointEntry[];
  /** The other lines of the run. */
  branches: Branch[];
  /** The position of the checkpoint that is shown. */
  at: number;
  /** Set if the address names it: the page then stays there. */
  isChosen: boolean;
  hasEarlier: boolean;
  onEarlier: () => void;
}

export function Scrubber({ thread, line, branches, at, isChosen, hasEarlier, onEarlier }: ScrubberProps) {
  const shown = line[at];
  const move = (to: number): void => {
    const target = line[Math.min(Math.max(to, 0), line.length - 1)];
    if (target !== undefined) go({ view: "thread", thread, checkpoint: String(target.checkpoint) }, { replace: true });
    if (to <= 0 && hasEarlier) onEarlier();
  };
  const latest = useMemo(() => ({ move, at }), []);
  Object.assign(latest, { move, at });
  const keys = useMemo(() => [
    { key: ",", about: "the checkpoint before", run: () => latest.move(latest.at - 1) },
    { key: ".", about: "the checkpoint after", run: () => latest.move(latest.at + 1) },
  ], []);
  useKeys(keys);
  if (shown === undefined) return null;
  return (
    <div class="run-scrubber stack">
      <Slider name="Checkpoint" noun="checkpoint" last={line.length - 1} value={at} text={checkpointText(line, at)} onChange={move} onFirst={() => move(0)} />
      <p class="row run-checkpoint">
        <strong>Checkpoint {shown.checkpoint}</strong>
        <span>
          superstep {shown.step}, {originText(line, at)}
        </span>
        <span class="soft">
          <Ago at={shown.created_at} />
        </span>
        {shown.tags.map((tag) => (
          <span class="mark" key={tag}>
            {tag}
          </span>
        ))}
        {isChosen && <a class="lone-link" href={href({ view: "thread", thread })}>Latest</a>}
        {hasEarlier && (
          <button class="run-earlier" type="button" onClick={onEarlier}>
            Load earlier checkpoints
          </button>
        )}
      </p>
      {branches.length > 0 && <Branches thread={thread} branches={branches} />}
    </div>
  );
}

/** Branches that are listed; a run may have been rewound often. */
const LISTED = 8;

function Branches({ thread, branches }: { thread: string; branches: Branch[] }) {
  return (
    <p class="row run-branches">
      {branches.slice(0, LISTED).map(({ from, to }) => (
        <a class="lone-link" key={to} href={href({ view: "thread", thread, checkpoint: String(to) })}>
          {from === null ? `Branch to checkpoint ${to}` : `Branch from checkpoint ${from} to ${to}`}
        </a>
      ))}
      {branches.length > LISTED && <span class="soft">and {branches.length - LISTED} more</span>}
    </p>
  );
}
