// How cost comes to be recorded, for those who see none.

import { Empty } from "../../parts/notes";
import { href } from "../../routing/navigation";

export function NothingSpent({ isAll }: { isAll: boolean }) {
  if (!isAll) {
    return (
      <Empty title="Nothing was spent in this time">
        <p>Choose a longer period to see more.</p>
      </Empty>
    );
  }
  return (
    <Empty title="No cost is recorded yet">
      <p>Agents of plans and tasks record their tokens and their cost by themselves, at the prices of the profile.</p>
      <p>
        A node of your own reports what it spends with <code>ctx.spend</code>, or emits the model's message with its <code>usage_metadata</code> with <code>ctx.emit_message</code>.
      </p>
      <p>
        <a class="lone-link" href={href({ view: "start" })}>Start a run</a>
      </p>
    </Empty>
  );
}
