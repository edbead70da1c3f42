// One task, phase, subtask or attempt: its line, and what there is to say of it.

import { useState } from "preact/hooks";

import { shortId } from "../../fold/git_words";
import { costOf, tokensText } from "../../fold/journal";
import { durationText } from "../../fold/time";
import { hasMore, type Piece } from "../../fold/work";
import { Copy } from "../../parts/copy";
import { Ago } from "../../parts/time";
import { Visible } from "../../parts/visible";
import { href } from "../../routing/navigation";
import { PieceDetails } from "./piece_details";
import { PieceList } from "./piece_list";

/** What the pieces of a run have in common. */
export interface PiecePlace {
  thread: string;
  checkpoint: number;
  /** The folder of the repository. */
  repository: string;
}

interface PieceItemProps {
  piece: Piece;
  place: PiecePlace;
  /** Set if what is worked on is open until somebody closes it. */
  isOpenAtFirst: boolean;
}

export function PieceItem({ piece, place, isOpenAtFirst }: PieceItemProps) {
  const [choice, setChoice] = useState<boolean | null>(null);
  const isOpen = choice ?? (isOpenAtFirst && piece.isCurrent);
  const { name, title, mark, reason, parts } = piece;
  const opens = hasMore(piece);
  const words = (
    <>
      <span class="work-name">{name}</span> <Visible text={title} />
    </>
  );
  return (
    <li class="work-item" data-mark={mark.text} data-current={piece.isCurrent ? "" : undefined}>
      <div class="work-line">
        <span class="mark work-mark" data-kind={mark.mark}>
          {mark.text}
        </span>
        {opens ? (
          <button type="button" class="work-title" aria-expanded={isOpen} onClick={() => setChoice(!isOpen)}>
            <span class="diff-arrow" aria-hidden="true" />
            <span>{words}</span>
          </button>
        ) : (
          <p class="work-title">
            <span>{words}</span>
          </p>
        )}
        <Facts piece={piece} place={place} />
      </div>
      {reason !== null && reason !== "" && (
        <p class="work-reason">
          <Visible text={reason} />
        </p>
      )}
      {opens && isOpen && <PieceDetails piece={piece} repository={place.repository} />}
      {parts.length > 0 && <PieceList pieces={parts} label={`Subtasks of ${name.toLowerCase()}`} place={place} isOpenAtFirst={isOpenAtFirst} />}
    </li>
  );
}

function Facts({ piece: { facts, commit, used, startedAt, endedAt, task, name, isCurrent }, place }: { piece: Piece; place: PiecePlace }) {
  const cost = costOf(used.cost);
  return (
    <p class="work-facts">
      {facts.map((fact) => (
        <span key={fact}>
          <Visible text={fact} />
        </span>
      ))}
      {startedAt !== null && <span>{endedAt !== null ? durationText(Math.max(Date.parse(endedAt) - Date.parse(startedAt), 0)) : <Ago at={startedAt} />}</span>}
      {cost !== null ? <span>{cost}</span> : used.tokens > 0 ? <span>{tokensText(used.tokens)} tokens</span> : null}
      {task !== null && (
        <a class="lone-link" href={href({ view: "task", thread: place.thread, checkpoint: String(place.checkpoint), task })} aria-label={`${isCurrent ? "Watch" : "Open"} ${name.toLowerCase()}`}>
          {isCurrent ? "Watch" : "Open"}
        </a>
      )}
      {commit !== null && (
        <Copy text={commit} label={`commit ${shortId(commit)}`}>
          {shortId(commit)}
        </Copy>
      )}
    </p>
  );
}
