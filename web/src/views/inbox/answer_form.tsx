// The answer to a question: one main action, the others behind `More`, what the chosen one needs, a note and a name.

import { useMemo, useState } from "preact/hooks";

import { sendAnswer } from "../../api/answers";
import type { Ask, InboxItem, Json, Schema } from "../../api/types";
import { actionsOf, type Action } from "../../fold/actions";
import { withComments } from "../../fold/comments";
import { problems as problemsOf, resolve, startValue, type FormProblem } from "../../fold/schema";
import { myName, rememberName } from "../../live/my_name";
import { Confirm } from "../../parts/button";
import type { LineComment } from "../../parts/diff_view";
import { ErrorNote } from "../../parts/notes";
import { SchemaForm } from "../../parts/schema_form";
import { ActionButtons } from "./action_buttons";
import { PlanEditor } from "./plan_editor";

interface AnswerProps {
  item: InboxItem;
  ask: Ask;
  comments: LineComment[];
  onAnswered: () => void;
}

export function AnswerForm({ item, ask, comments, onAnswered }: AnswerProps) {
  const actions = useMemo(() => actionsOf(ask), [ask]);
  const [chosen, setChosen] = useState<Action | null>(actions.length === 1 ? (actions[0] ?? null) : null);
  const [value, setValue] = useState<Json | undefined>(() => (chosen === null ? undefined : start(chosen)));
  const [problems, setProblems] = useState<FormProblem[]>([]);
  const [note, setNote] = useState("");
  const [asked, setAsked] = useState<Action | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const [isSending, setSending] = useState(false);

  const send = async (action: Action, typed: Json): Promise<void> => {
    setAsked(null);
    setSending(true);
    setError(null);
    try {
      const given = withComments(action.answer(typed), note, comments);
      await sendAnswer(item, { ...given, by: myName.value });
      onAnswered();
    } catch (cause) {
      setError(cause instanceof Error ? cause : new Error(String(cause)));
    }
    setSending(false);
  };
  const decide = (action: Action, typed: Json | undefined): void => {
    const found = action.form === null ? [] : problemsOf(typed, resolve(action.form, action.form), action.form);
    setProblems(found);
    if (found.length > 0) return;
    if (action.isFinal) setAsked(action);
    else void send(action, typed ?? null);
  };
  const choose = (action: Action): void => {
    if (action.form === null) return decide(action, null);
    if (chosen === action) return decide(action, value);
    setChosen(action);
    setValue(start(action));
    setProblems([]);
  };
  return (
    <form class="answer stack" onSubmit={(event) => (event.preventDefault(), chosen !== null && decide(chosen, value))}>
      {chosen?.isDraft === true && <PlanEditor item={item} ask={ask} action={chosen} value={value} onChange={setValue} />}
      {chosen?.isDraft === false && chosen.form !== null && (
        <SchemaForm key={chosen.name} schema={chosen.form as Schema} value={value} problems={problems} onChange={setValue} />
      )}
      <div class="answer-about">
        <label class="field">
          <span class="field-label">Note</span>
          <textarea class="answer-note" rows={2} value={note} onInput={(event) => setNote(event.currentTarget.value)} />
        </label>
        <label class="field">
          <span class="field-label">Your name</span>
          <input value={myName.value} autocomplete="name" onInput={(event) => rememberName(event.currentTarget.value)} />
        </label>
      </div>
      {comments.length > 0 && <p class="soft">{comments.length === 1 ? "1 comment goes" : `${comments.length} comments go`} with the answer.</p>}
      {error !== null && <ErrorNote error={error} />}
      <ActionButtons actions={actions} chosen={chosen} isSending={isSending} onChoose={choose} onLeave={() => setChosen(null)} />
      {asked !== null && (
        <Confirm title={`${asked.name}?`} onCancel={() => setAsked(null)} onConfirm={() => void send(asked, value ?? null)}>
          {asked.about ?? `The answer to ${item.thread} is ${asked.name.toLowerCase()}. It cannot be taken back.`}
        </Confirm>
      )}
    </form>
  );
}

function start(action: Action): Json | undefined {
  return action.form === null ? undefined : startValue(resolve(action.form, action.form), action.form);
}
