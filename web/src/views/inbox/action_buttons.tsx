// The buttons of a question: the main one, and the others behind `More`.

import { useState } from "preact/hooks";

import type { Action } from "../../fold/actions";
import { Button } from "../../parts/button";

interface ActionButtonsProps {
  actions: Action[];
  /** The action whose form is shown. */
  chosen: Action | null;
  isSending: boolean;
  onChoose: (action: Action) => void;
  onLeave: () => void;
}

export function ActionButtons({ actions, chosen, isSending, onChoose, onLeave }: ActionButtonsProps) {
  const [isOpen, setOpen] = useState(false);
  const [main, ...others] = chosen !== null && chosen.form !== null && actions.length > 1 ? [chosen] : actions;
  if (main === undefined) return null;
  const isAlone = main === chosen && actions.length > 1;
  return (
    <div class="stack">
      <div class="button-row answer-buttons">
        <Button kind={main.isFinal ? "bad-main" : "main"} disabled={isSending} onClick={() => onChoose(main)}>
          {buttonName(main)}
        </Button>
        {isAlone && (
          <Button kind="quiet" onClick={onLeave}>
            Back
          </Button>
        )}
        {others.length > 0 && (
          <Button kind="quiet" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
            More
          </Button>
        )}
        {isOpen && others.map((action) => (
          <Button kind={action.isFinal ? "bad" : undefined} disabled={isSending} title={action.about ?? undefined} onClick={() => onChoose(action)}>
            {buttonName(action)}
          </Button>
        ))}
      </div>
      {(isOpen || isAlone) && <Hints actions={[main, ...others]} />}
    </div>
  );
}

function Hints({ actions }: { actions: Action[] }) {
  const explained = actions.filter(({ about }) => about !== null);
  return explained.length === 0 ? null : (
    <dl class="facts answer-hints">
      {explained.map((action) => [<dt>{buttonName(action)}</dt>, <dd>{action.about}</dd>])}
    </dl>
  );
}

function buttonName(action: Action): string {
  return action.isDraft ? "Edit" : action.name;
}
