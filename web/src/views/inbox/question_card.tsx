// One question: what is asked, the evidence, who may answer, and the answer.

import { useId, useMemo, useState } from "preact/hooks";

import type { Ask, InboxItem } from "../../api/types";
import { evidenceOf } from "../../fold/evidence";
import { nameTitle } from "../../fold/inbox";
import type { LineComment } from "../../parts/diff_view";
import { Evidence } from "../../parts/evidence";
import { Ago } from "../../parts/time";
import { AnswerForm } from "./answer_form";
import { QuestionTerms } from "./question_terms";

interface QuestionProps {
  item: InboxItem;
  ask: Ask;
  onAnswered: () => void;
}

export function QuestionCard({ item, ask, onAnswered }: QuestionProps) {
  const [comments, setComments] = useState<LineComment[]>([]);
  const parts = useMemo(() => evidenceOf(ask.value, ask.payload_schema), [ask.value, ask.payload_schema]);
  const id = useId();
  return (
    <div class="question stack" role="group" aria-labelledby={id}>
      <header class="row">
        <h3 id={id}>{nameTitle(ask.superstep.name)}</h3>
        <span class="soft">
          asked by <code>{ask.superstep.node}</code> <Ago at={item.since} />
        </span>
      </header>
      <QuestionTerms terms={ask.superstep} peopleOnly={ask.people_only} />
      <Evidence parts={parts} comments={comments} onComment={setComments} />
      {ask.text !== null && (
        <details class="question-text" open={parts.length === 0}>
          <summary>As the command line shows it</summary>
          <pre class="code-block" tabIndex={0}>{ask.text}</pre>
        </details>
      )}
      <AnswerForm item={item} ask={ask} comments={comments} onAnswered={onAnswered} />
    </div>
  );
}
