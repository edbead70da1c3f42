// What there is to say of one task, phase or attempt: reviews, failed checks, findings, its verifiers, its files, its work in git, its cost.

import { gitCommand, shellWord } from "../../fold/git_words";
import { usedText } from "../../fold/journal";
import { durationText } from "../../fold/time";
import { type Piece, type Verifier } from "../../fold/work";
import { Copy } from "../../parts/copy";
import { Findings } from "../../parts/findings";
import { LongText } from "../../parts/long_text";
import { Visible } from "../../parts/visible";
import { GitCommands } from "./git_commands";
import { ReviewNote } from "./review_note";

export function PieceDetails({ piece, repository }: { piece: Piece; repository: string }) {
  const { name, reviews, failures, findings, verifiers, files, salvage, folder, roles } = piece;
  const commands = salvage.map((reference) => ({ label: "", command: gitCommand(repository, `show ${shellWord(reference)}`) }));
  return (
    <div class="work-details stack" role="group" aria-label={`${name} in detail`}>
      {reviews.map((review) => (
        <ReviewNote key={review.label} review={review} />
      ))}
      {failures.length > 0 && <Failures list={failures} />}
      {findings.length > 0 && (
        <div class="stack work-part">
          <h4>Findings</h4>
          <Findings list={findings} label={`Findings of ${name.toLowerCase()}`} />
        </div>
      )}
      {verifiers.length > 0 && <Verifiers list={verifiers} />}
      {folder !== null && (
        <p class="work-part">
          <span class="soft">{piece.parts.length > 0 ? "Worktrees are in" : "Its worktree is"}</span>{" "}
          <Copy text={folder} label={`folder ${folder}`}>
            {folder}
          </Copy>
        </p>
      )}
      {files.length > 0 && (
        <p class="work-files">
          <span class="soft">Files</span>
          {files.slice(0, 100).map((file) => (
            <code key={file}>
              <Visible text={file} />
            </code>
          ))}
          {files.length > 100 && <span class="soft">and {files.length - 100} more</span>}
        </p>
      )}
      {commands.length > 0 && <GitCommands title="Work that was not accepted" commands={commands} />}
      {roles.length > 0 && (
        <p class="work-roles">
          {roles.map((used) => (
            <span key={used.role}>
              <span class="soft">{used.role}</span> {usedText(used)}
            </span>
          ))}
        </p>
      )}
    </div>
  );
}

/** Failed checks, each with the end of its output. */
export function Failures({ list }: { list: string[] }) {
  return (
    <div class="stack work-part" role="group" aria-label="Failed checks">
      <h4>Failed checks</h4>
      {list.slice(0, 20).map((text, at) => (
        <LongText key={at} text={text} label="the check" />
      ))}
    </div>
  );
}

function Verifiers({ list }: { list: Verifier[] }) {
  return (
    <div class="stack work-part">
      <h4>Verifiers</h4>
      <ul role="list" class="work-verifiers" aria-label="Verifiers">
        {list.map(({ name, stage, verdict, ms }, at) => (
          <li key={at}>
            <span class="mark" data-kind={verdict.mark}>
              {verdict.text}
            </span>
            <span>{name}</span>
            <span class="soft">{stage === name ? "" : stage}</span>
            <span class="soft">{ms > 0 && durationText(ms)}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}
