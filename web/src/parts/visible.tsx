// A text whose hidden characters are named: nothing in it looks other than it is.

import { pieces } from "../fold/hidden";

/** Text of letters that can neither hide nor turn anything. */
const PLAIN = /^[\x20-\x7e\t\n]*$/;

export function Visible({ text }: { text: string }) {
  if (PLAIN.test(text)) return <>{text}</>;
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
