// Who may answer a question, until when, what happens then, and who has answered.

import type { Terms } from "../../api/types";
import { answerText } from "../../fold/actions";
import { termsTexts } from "../../fold/inbox";
import { Until } from "../../parts/time";
import { Visible } from "../../parts/visible";

export function QuestionTerms({ terms, peopleOnly }: { terms: Terms; peopleOnly: boolean }) {
  const { approvers, votes, after } = termsTexts(terms);
  if (approvers === null && votes === null && terms.expires === null && !peopleOnly) return null;
  return (
    <dl class="facts question-terms">
      {approvers !== null && [<dt>May answer</dt>, <dd><Visible text={approvers} /></dd>]}
      {approvers === null && peopleOnly && [<dt>May answer</dt>, <dd>people only, not the client that started the run</dd>]}
      {terms.expires !== null && [
        <dt>Until</dt>,
        <dd>
          <Until at={terms.expires} />, then <Visible text={after ?? ""} />
        </dd>,
      ]}
      {votes !== null && [
        <dt>Votes</dt>,
        <dd>
          {votes}
          {terms.votes.map((vote) => (
            <div class="soft">
              <Visible text={vote.by ?? "somebody"} />: <Visible text={answerText(vote.value)} />
              {vote.note === null ? "" : <Visible text={`, ${vote.note}`} />}
            </div>
          ))}
        </dd>,
      ]}
    </dl>
  );
}
