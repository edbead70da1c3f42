// What was spent in all.

import { tokensText, type Spent } from "../../fold/spend";
import { costText } from "../../fold/threads";

export function Totals({ total }: { total: Spent }) {
  return (
    <dl class="spend-figures">
      <Figure name="Cost" value={costText(total.cost)} />
      <Figure name="Tokens" value={<Tokens count={total.tokens} />} />
      {total.unpriced > 0 && <Figure name="Tokens without a price" value={<Tokens count={total.unpriced} />} about="Their price is not known, so the cost is higher than shown." />}
    </dl>
  );
}

function Tokens({ count }: { count: number }) {
  return <span title={count.toLocaleString("en")}>{tokensText(count)}</span>;
}

export function Figure({ name, value, about }: { name: string; value: preact.ComponentChildren; about?: preact.ComponentChildren }) {
  return (
    <div class="card spend-figure">
      <dt class="soft">{name}</dt>
      <dd>
        <span class="spend-figure-value">{value}</span>
        {about !== undefined && <span class="soft">{about}</span>}
      </dd>
    </div>
  );
}
