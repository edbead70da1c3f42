// The answer to a question: what the chosen action needs, a note and a name, one main action and the others behind `More`.

import { useEffect, useRef } from "preact/hooks";

import type { InboxItem, Schema } from "../../api/types";
import type { Action } from "../../fold/actions";
import { myName, rememberName } from "../../live/my_name";
import { Confirm } from "../../parts/button";
import { HalfTyped } from "../../parts/json_field";
import { ErrorNote } from "../../parts/notes";
import { SchemaForm } from "../../parts/schema_form";
import { ActionButtons } from "./action_buttons";
import type { AnswerState } from "./use_answer";
import { VariantForm } from "./variant_form";

interface AnswerProps {
  item: InboxItem;
  answer: AnswerState;
  /** Set if a plan is shown, at which it can be edited. */
  hasPlan: boolean;
  hasLeft: boolean;
  onEdit: () => void;
}

export function AnswerForm({ item, answer, hasPlan, hasLeft, onEdit }: AnswerProps) {
  const { chosen, comments, asked, draft } = answer;
  // What is to be typed in for another answer may be out of sight.
  const fields = useRef<HTMLDivElement>(null);
  const isFirst = useRef(true);
  useEffect(() => {
    if (!isFirst.current) {
      fields.current?.scrollIntoView({ block: "center" });
      fields.current?.querySelector<HTMLElement>("input, select, textarea, button")?.focus({ preventScroll: true });
    }
    isFirst.current = false;
  }, [chosen?.name]);
  const choose = (action: Action): void => {
    // A text that is no JSON has no value, and would be left out of the answer.
    const misfit = action === chosen && draft === null ? fields.current?.querySelector<HTMLElement>("[data-misfit]") : null;
    if (misfit == null) answer.choose(action);
    else misfit.focus();
  };
  const submit = (event: Event): void => {
    event.preventDefault();
    if (chosen !== null && !hasLeft && draft === null) choose(chosen);
  };
  return (
    <form class="answer stack" onSubmit={submit}>
      {chosen?.form != null && draft === null && (
        <div class="answer-fields" ref={fields}>
          <HalfTyped.Provider value={answer.writing}>
            {chosen.variants !== null ? (
              <VariantForm variants={chosen.variants} value={answer.value} problems={answer.problems} onChange={answer.setValue} />
            ) : (
              <SchemaForm key={chosen.name} name={chosen.name} schema={chosen.form as Schema} value={answer.value} problems={answer.problems} onChange={answer.setValue} />
            )}
          </HalfTyped.Provider>
        </div>
      )}
      <div class="answer-about">
        <label class="field">
          <span class="field-label">Note</span>
          <textarea class="answer-note" rows={2} value={answer.note} onInput={(event) => answer.setNote(event.currentTarget.value)} />
        </label>
        <label class="field">
          <span class="field-label">Your name</span>
          <input value={myName.value} autocomplete="name" onInput={(event) => rememberName(event.currentTarget.value)} />
        </label>
      </div>
      {comments.length > 0 && <p class="soft">{comments.length === 1 ? "1 comment goes" : `${comments.length} comments go`} with the answer.</p>}
      {answer.result !== null && <p class="note" data-kind="good" role="status">{answer.result}</p>}
      {answer.error !== null && <ErrorNote error={answer.error} />}
      {!hasLeft && <ActionButtons answer={answer} hasPlan={hasPlan} onChoose={choose} onEdit={onEdit} />}
      {asked !== null && (
        <Confirm title={`${asked.name}?`} onCancel={answer.cancel} onConfirm={answer.confirm}>
          {asked.about ?? `The answer to ${item.thread} is ${asked.name.toLowerCase()}.`} It cannot be taken back.
        </Confirm>
      )}
    </form>
  );
}
