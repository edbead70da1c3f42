// The reviews and failed checks of all attempts so far, which are read from the checkpoints after them when they are wanted.

import { useResource } from "../../api/resource";
import { loadChannels } from "../../api/run";
import type { CheckpointEntry } from "../../api/run_types";
import { JUDGEMENT, judgedAt, readJudgement, type Judged, type Judgement } from "../../fold/work_read";
import { Disclosure } from "../../parts/disclosure";
import { ErrorNote, Loading } from "../../parts/notes";
import { href } from "../../routing/navigation";
import { Failures } from "./piece_details";
import { ReviewNote } from "./review_note";

interface JudgementsProps {
  thread: string;
  line: CheckpointEntry[];
  hasEarlier: boolean;
}

/** Judgements that are read at once. */
const READ = 30;

export function Judgements({ thread, line, hasEarlier }: JudgementsProps) {
  const judged = judgedAt(line);
  if (judged.length === 0) return null;
  return (
    <Disclosure label="Reviews and failed checks of all attempts">
      {() => (
        <>
          <List thread={thread} judged={judged.slice(0, READ)} />
          {(judged.length > READ || hasEarlier) && <p class="soft">These are the newest; move to an earlier checkpoint for those before it.</p>}
        </>
      )}
    </Disclosure>
  );
}

function List({ thread, judged }: { thread: string; judged: Judged[] }) {
  const { value, error } = useResource(`judgements ${thread} ${judged.map(({ to }) => to).join(" ")}`, (signal) => Promise.all(judged.map(async (one) => readJudgement(one, await loadChannels(thread, one.to, JUDGEMENT, signal)))));
  if (error !== undefined) return <ErrorNote error={error} />;
  if (value === undefined) return <Loading what="the reviews" />;
  const list = value.filter((one): one is Judgement => one !== null);
  return (
    <ol role="list" class="work-judgements stack" aria-label="Reviews and failed checks">
      {list.map(({ review, failures, from, task, to }) => (
        <li key={to}>
          <ReviewNote review={review}>
            <a class="lone-link" href={href({ view: "task", thread, checkpoint: String(from), task })}>What it did</a>
          </ReviewNote>
          {failures.length > 0 && <Failures list={failures} />}
        </li>
      ))}
    </ol>
  );
}
