// The parts of a payload, each in its view. Knows no question.

import type { Writing } from "../fold/comments";
import type { Evidence as Part, FileSize } from "../fold/evidence";
import { Commands } from "./commands";
import { Counts } from "./diff_files";
import { DiffView, type LineComment } from "./diff_view";
import { Findings } from "./findings";
import { LongMarkdown, LongText } from "./long_text";
import { PlanView } from "./plan_view";
import { Visible } from "./visible";
import "./evidence.css";

interface EvidenceProps {
  parts: Part[];
  comments?: LineComment[];
  writing?: Writing;
  /** Left out where nobody comments. */
  onComment?: (comments: LineComment[]) => void;
  /** Edits the plan; left out where it cannot be answered so. */
  onEdit?: (() => void) | undefined;
}

export function Evidence({ parts, ...work }: EvidenceProps) {
  const leads = parts.flatMap((part) => (part.kind === "lead" ? [part] : []));
  const facts = parts.flatMap((part) => (part.kind === "fact" ? [part] : []));
  return (
    <div class="stack">
      {leads.map(({ name, text }) => (
        <p class="lead" key={name}>
          <Visible text={text} />
        </p>
      ))}
      {facts.length > 0 && (
        <dl class="facts">
          {facts.map(({ name, label, text }) => [
            <dt key={`${name}-label`}><Visible text={label} /></dt>,
            <dd key={name}>
              <Visible text={text} />
            </dd>,
          ])}
        </dl>
      )}
      {parts.map((part) =>
        part.kind === "fact" || part.kind === "lead" ? null : (
          <section class="evidence stack" key={part.name} aria-label={part.label}>
            {part.kind !== "plan" && <h4><Visible text={part.label} /></h4>}
            <Block part={part} {...work} />
          </section>
        ),
      )}
    </div>
  );
}

function Block({ part, onEdit, ...work }: { part: Part } & Omit<EvidenceProps, "parts">) {
  switch (part.kind) {
    case "plan":
      return <PlanView plan={part.plan} label={part.label} isFolded={part.isFolded} onEdit={onEdit} />;
    case "diff":
      return <DiffView diff={part.text} {...work} />;
    case "markdown":
      return <LongMarkdown text={part.text} label={part.label.toLowerCase()} />;
    case "findings":
      return <Findings list={part.list} label={part.label} />;
    case "commands":
      return <Commands list={part.list} />;
    case "list":
      return (
        <ul>
          {part.list.slice(0, 200).map((item) => (
            <li>
              <Visible text={item} />
            </li>
          ))}
          {part.list.length > 200 && <li>and {part.list.length - 200} more</li>}
        </ul>
      );
    case "table":
      return <Table label={part.label} columns={part.columns} rows={part.rows} />;
    case "facts":
      return (
        <dl class="facts">
          {part.facts.map(({ label, text }) => [
            <dt><Visible text={label} /></dt>,
            <dd>
              <Visible text={text} />
            </dd>,
          ])}
        </dl>
      );
    case "sizes":
      return <Sizes files={part.files} />;
    case "json":
      return <LongText text={JSON.stringify(part.value, null, 2)} label={part.label.toLowerCase()} />;
    default:
      return <LongText text={part.text} label={part.label.toLowerCase()} />;
  }
}

const ROWS = 100;

function Table({ label, columns, rows }: { label: string; columns: string[]; rows: string[][] }) {
  return (
    <div class="table-place" role="region" aria-label={`${label}, as a table`} tabIndex={0}>
      <table class="table">
        <thead>
          <tr>
            {columns.map((name) => (
              <th scope="col"><Visible text={name} /></th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, ROWS).map((row) => (
            <tr>
              {row.map((text) => (
                <td>
                  <Visible text={text} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length > ROWS && <p class="soft">and {rows.length - ROWS} more</p>}
    </div>
  );
}

function Sizes({ files }: { files: FileSize[] }) {
  return (
    <ul role="list" class="sizes">
      {files.slice(0, 200).map((file) => (
        <li>
          <Counts added={file.added} removed={file.removed} />
          <code>
            <Visible text={file.name} />
          </code>
          {file.about !== null && <span class="mark"><Visible text={file.about} /></span>}
        </li>
      ))}
      {files.length > 200 && <li>and {files.length - 200} more</li>}
    </ul>
  );
}
