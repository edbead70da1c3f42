// Tasks, phases or attempts as a list: one line each, which opens.

import { useState } from "preact/hooks";

import type { Piece } from "../../fold/work";
import { Button } from "../../parts/button";
import { PieceItem, type PiecePlace } from "./piece_item";

const SHOWN = 100;

interface PieceListProps {
  pieces: Piece[];
  label: string;
  place: PiecePlace;
  /** Set if what is worked on is open until somebody closes it. */
  isOpenAtFirst: boolean;
}

export function PieceList({ pieces, label, place, isOpenAtFirst }: PieceListProps) {
  const [isWhole, setWhole] = useState(false);
  const shown = isWhole ? pieces : pieces.slice(0, SHOWN);
  return (
    <>
      <ol role="list" class="work-list" aria-label={label}>
        {shown.map((piece) => (
          <PieceItem key={piece.id} piece={piece} place={place} isOpenAtFirst={isOpenAtFirst} />
        ))}
      </ol>
      {shown.length < pieces.length && (
        <Button kind="quiet" onClick={() => setWhole(true)}>
          Show {pieces.length - shown.length} more
        </Button>
      )}
    </>
  );
}
