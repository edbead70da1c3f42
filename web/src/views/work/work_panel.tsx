// The work of an agent workflow on the page of its run: what is done, what it came to, what it cost, and how to look at it in git.

import type { InboxItem } from "../../api/types";
import type { Position } from "../../fold/graph";
import type { Work } from "../../fold/work";
import { Disclosure } from "../../parts/disclosure";
import { Visible } from "../../parts/visible";
import { CostPart } from "./cost_part";
import { GitCommands } from "./git_commands";
import { Judgements } from "./judgements";
import type { PiecePlace } from "./piece_item";
import { PieceList } from "./piece_list";
import { ReviewNote } from "./review_note";
import { useWork } from "./use_work";
import "./work.css";

interface WorkProps {
  thread: string;
  position: Position;
  questions: InboxItem[] | undefined;
  hasEarlier: boolean;
}

const NOTHING: never[] = [];

export function WorkPanel({ thread, position, questions, hasEarlier }: WorkProps) {
  const { line, isNewest, isRunning, running } = position;
  const checkpoint = line.at(-1)?.checkpoint ?? 0;
  const { work, shape } = useWork({ thread, checkpoint, live: isNewest ? { isRunning, running, tasks: line.at(-1)?.tasks ?? NOTHING, questions: questions ?? NOTHING } : null });
  if (work === null) return null;
  // A question that is above it shows the same in full.
  const isAsked = isNewest && (questions ?? NOTHING).some(({ question }) => question != null);
  const place: PiecePlace = { thread, checkpoint, repository: work.repository };
  return (
    <section class="work card stack" aria-label="Work">
      <Head work={work} />
      <About work={work} />
      <PieceList pieces={work.pieces} label={work.listName} place={place} isOpenAtFirst={!isAsked} />
      {work.children.length > 0 && <Children work={work} place={place} isOpenAtFirst={!isAsked} />}
      {work.reviews.map((review) => (
        <ReviewNote key={review.label} review={review} />
      ))}
      {work.notices.length > 0 && <Notices list={work.notices} />}
      {shape === "plan" && <Judgements key={thread} thread={thread} line={line} hasEarlier={hasEarlier} />}
      <CostPart work={work} />
      <GitCommands commands={work.commands} />
    </section>
  );
}

function Head({ work: { heading, outcome, done, total, children } }: { work: Work }) {
  return (
    <header class="row">
      <h2>{heading}</h2>
      {outcome !== null && (
        <span class="mark" data-kind={outcome.mark}>
          {outcome.text}
        </span>
      )}
      {children.length === 0 && total > 0 && (
        <span class="work-progress">
          <Progress done={done} total={total} />
          <span class="soft">
            {done} of {total} done
          </span>
        </span>
      )}
    </header>
  );
}

function Progress({ done, total }: { done: number; total: number }) {
  return (
    <svg class="work-bar" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
      <rect class="work-bar-all" width="100" height="6" />
      <rect class="work-bar-done" width={(done / total) * 100} height="6" />
    </svg>
  );
}

function About({ work: { about } }: { work: Work }) {
  if (about.length === 0) return null;
  return (
    <dl class="facts">
      {about.map(({ name, text }) => [
        <dt key={`${name}-name`}>{name}</dt>,
        <dd key={name}>
          <Visible text={text} />
        </dd>,
      ])}
    </dl>
  );
}

function Children({ work: { children, done, total }, place, isOpenAtFirst }: { work: Work; place: PiecePlace; isOpenAtFirst: boolean }) {
  return (
    <div class="stack">
      <h3>
        Split into {total} smaller tasks <span class="soft work-count">{done} done</span>
      </h3>
      <PieceList pieces={children} label="Smaller tasks" place={place} isOpenAtFirst={isOpenAtFirst} />
    </div>
  );
}

const SHOWN = 5;

function Notices({ list }: { list: string[] }) {
  const items = (texts: string[]) => (
    <ul class="work-notices">
      {texts.slice(0, 200).map((text, at) => (
        <li key={at}>
          <Visible text={text} />
        </li>
      ))}
    </ul>
  );
  return (
    <div class="stack" role="group" aria-label="Notices">
      <h3>Notices</h3>
      {items(list.slice(0, SHOWN))}
      {list.length > SHOWN && <Disclosure label={`${list.length - SHOWN} more`}>{() => items(list.slice(SHOWN))}</Disclosure>}
    </div>
  );
}
