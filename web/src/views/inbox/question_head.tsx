// What a question is called and who asks it, and its text in the program's words.

import type { Ask, InboxItem } from "../../api/types";
import { nameTitle } from "../../fold/inbox";
import { Disclosure } from "../../parts/disclosure";
import { LongText } from "../../parts/long_text";
import { Ago } from "../../parts/time";
import { Visible } from "../../parts/visible";

export function QuestionHead({ id, item, ask }: { id: string; item: InboxItem; ask: Ask }) {
  return (
    <>
      <header class="row">
        <h3 id={id}>
          <Visible text={nameTitle(ask.superstep.name)} />
        </h3>
        <span class="soft">
          asked by{" "}
          <code>
            <Visible text={ask.superstep.node} />
          </code>{" "}
          <Ago at={item.since} />
        </span>
      </header>
      {ask.cut === true && <p class="note" data-kind="warn">It is longer than 1 MiB, and cut there. The command line shows all of it.</p>}
    </>
  );
}

export function QuestionText({ ask: { text }, isOpenAtFirst }: { ask: Ask; isOpenAtFirst: boolean }) {
  if (text === null) return null;
  return (
    <Disclosure label="As the command line shows it" isOpenAtFirst={isOpenAtFirst}>
      {() => <LongText text={text} label="the text" />}
    </Disclosure>
  );
}
