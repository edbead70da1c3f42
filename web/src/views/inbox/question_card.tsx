// One question: what is asked, the evidence, who may answer, and the answer.

import { useEffect, useId, useMemo } from "preact/hooks";

import type { Ask, InboxItem } from "../../api/types";
import { evidenceOf, type Evidence as Part } from "../../fold/evidence";
import { Evidence } from "../../parts/evidence";
import { AnswerForm } from "./answer_form";
import type { CardWork } from "./card_work";
import { PlanEditor } from "./plan_editor";
import { QuestionHead, QuestionText } from "./question_head";
import { QuestionTerms } from "./question_terms";
import { useAnswer } from "./use_answer";

interface QuestionProps {
  item: InboxItem;
  ask: Ask;
  /** Set if the question is not open any more. */
  hasLeft: boolean;
  work: CardWork;
}

export function QuestionCard({ item, ask, hasLeft, work }: QuestionProps) {
  const parts = useMemo(() => evidenceOf(ask), [ask]);
  const planText = ask.draft ?? markdownOf(parts);
  const answer = useAnswer(item, ask, planText, () => work.onSent(item));
  const isKept = answer.isTyped || answer.isSending || answer.error !== null;
  const id = useId();
  useEffect(() => work.onTyped(item, isKept), [isKept, item]);
  const draft = answer.actions.find(({ isDraft }) => isDraft);
  const isEditing = draft !== undefined && answer.draft !== null;
  const shown = isEditing ? parts.filter(({ kind }) => kind !== "plan") : parts;
  const edit = (): void => answer.setDraft(planText);
  return (
    <div class="question stack" role="group" aria-labelledby={id}>
      <QuestionHead id={id} item={item} ask={ask} />
      {hasLeft && !answer.isSending && <HasLeft onDismiss={() => (answer.forget(), work.onDismiss(item))} />}
      <QuestionTerms terms={ask.superstep} peopleOnly={ask.people_only} />
      <Evidence parts={shown} comments={answer.comments} writing={answer.writing} onComment={answer.setComments} onEdit={draft === undefined || hasLeft ? undefined : edit} />
      {isEditing && <PlanEditor item={item} action={draft} before={planText} text={answer.draft ?? ""} onChange={answer.setDraft} />}
      <QuestionText ask={ask} isOpenAtFirst={parts.length === 0} />
      <AnswerForm item={item} answer={answer} hasPlan={parts.some(({ kind }) => kind === "plan")} hasLeft={hasLeft} onEdit={edit} />
    </div>
  );
}

function HasLeft({ onDismiss }: { onDismiss: () => void }) {
  return (
    <div class="note row" data-kind="warn" role="alert">
      <p class="question-left">
        <strong>This question was answered elsewhere, or its run has gone on.</strong> What you typed was not sent; copy what you still need.
      </p>
      <button class="button" type="button" onClick={onDismiss}>
        Dismiss
      </button>
    </div>
  );
}

/** The text of a plan that the question itself shows. */
function markdownOf(parts: Part[]): string {
  for (const part of parts) if (part.kind === "plan" && part.plan.markdown !== null) return part.plan.markdown;
  return "";
}
