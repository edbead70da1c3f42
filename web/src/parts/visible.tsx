// A text whose hidden characters are named: nothing in it looks other than it is.

import { pieces } from "../fold/hidden";

export function Visible({ text }: { text: string }) {
  const parts = pieces(text);
  return (
    <bdi>
      {parts.map((piece) =>
        piece.isHidden ? (
          <span class="hidden-letter" title="A character that is not visible">
            {piece.text}
          </span>
        ) : (
          piece.text
        ),
      )}
    </bdi>
  );
}
