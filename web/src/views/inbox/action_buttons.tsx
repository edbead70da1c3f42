// The buttons of a question: the main one, and the others behind `More`.

import { useState } from "preact/hooks";

import type { Action } from "../../fold/actions";
import { Button } from "../../parts/button";
import type { AnswerState } from "./use_answer";

interface ActionButtonsProps {
  answer: AnswerState;
  /** Set if the plan is shown, with its own button. */
  hasPlan: boolean;
  onChoose: (action: Action) => void;
  onEdit: () => void;
}

export function ActionButtons({ answer, hasPlan, onChoose, onEdit }: ActionButtonsProps) {
  const [isOpen, setOpen] = useState(false);
  const { actions, chosen, draft, isSending } = answer;
  const [first, ...rest] = actions;
  if (first === undefined) return null;
  const isAside = chosen !== null && chosen !== first;
  const main = isAside ? chosen : first;
  const others = isAside || draft !== null ? [] : rest.filter(({ isDraft }) => !(isDraft && hasPlan));
  const choose = (action: Action): void => (action.isDraft ? onEdit() : onChoose(action));
  const leave = (): void => (draft === null ? answer.leave() : answer.setDraft(null));
  return (
    <div class="answer-actions stack">
      <div class="button-row answer-buttons">
        <Button kind={main.isFinal ? "bad-main" : "main"} disabled={isSending} onClick={() => onChoose(main)}>
          {main.name}
        </Button>
        {(isAside || draft !== null) && (
          <Button kind="quiet" onClick={leave}>
            {draft === null ? "Back" : "Discard changes"}
          </Button>
        )}
        {others.length > 0 && (
          <Button kind="quiet" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
            More
          </Button>
        )}
        {isOpen &&
          others.map((action) => (
            <Button key={action.name} kind={action.isFinal ? "bad" : undefined} disabled={isSending} onClick={() => choose(action)}>
              {action.isDraft ? "Edit" : action.name}
            </Button>
          ))}
      </div>
      {draft !== null && <p class="soft">{main.name} sends the plan as it is above.</p>}
      <Hints actions={draft !== null ? [] : isOpen && !isAside ? [main, ...others] : main.own !== null || isAside ? [main] : []} />
    </div>
  );
}

/** Says what the buttons do, in the words of the program. */
function Hints({ actions }: { actions: Action[] }) {
  const explained = actions.filter(({ about, own }) => about !== null || own !== null);
  return explained.length === 0 ? null : (
    <dl class="facts answer-hints">
      {explained.map(({ name, own, about, isDraft }) => [
        <dt>{isDraft ? "Edit" : name}</dt>,
        <dd>
          {own !== null && !isDraft && <strong>{own}. </strong>}
          {about}
        </dd>,
      ])}
    </dl>
  );
}
