// One question in an exported file: it is read, and answered on its server.

import { useId, useMemo } from "preact/hooks";

import type { Ask, InboxItem } from "../../api/types";
import { evidenceOf } from "../../fold/evidence";
import { Evidence } from "../../parts/evidence";
import { QuestionHead, QuestionText } from "./question_head";
import { QuestionTerms } from "./question_terms";

export function QuestionRead({ item, ask }: { item: InboxItem; ask: Ask }) {
  const parts = useMemo(() => evidenceOf(ask), [ask]);
  const id = useId();
  return (
    <div class="question stack" role="group" aria-labelledby={id}>
      <QuestionHead id={id} item={item} ask={ask} />
      <QuestionTerms terms={ask.superstep} peopleOnly={ask.people_only} />
      <Evidence parts={parts} />
      <QuestionText ask={ask} isOpenAtFirst={parts.length === 0} />
      <p class="soft">It was open when this file was made. Its server takes the answer, or the command line where its store is.</p>
    </div>
  );
}
