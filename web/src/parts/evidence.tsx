// The parts of a payload, each in its view. Knows no question.

import type { Evidence as Part } from "../fold/evidence";
import { DiffView, type LineComment } from "./diff_view";
import { Findings } from "./findings";
import { Markdown } from "./markdown";
import { PlanView } from "./plan_view";

interface EvidenceProps {
  parts: Part[];
  comments: LineComment[];
  onComment: (comments: LineComment[]) => void;
}

export function Evidence({ parts, comments, onComment }: EvidenceProps) {
  const facts = parts.filter(({ kind }) => kind === "fact");
  return (
    <div class="stack">
      {facts.length > 0 && (
        <dl class="facts">
          {facts.map(({ name, label, value }) => [<dt key={`${name}-label`}>{label}</dt>, <dd key={name}>{String(value)}</dd>])}
        </dl>
      )}
      {parts.filter(({ kind }) => kind !== "fact").map((part) => (
        <section class="evidence stack" key={part.name}>
          <h4>{part.label}</h4>
          <Block part={part} comments={comments} onComment={onComment} />
        </section>
      ))}
    </div>
  );
}

function Block({ part: { kind, value }, comments, onComment }: { part: Part } & Omit<EvidenceProps, "parts">) {
  switch (kind) {
    case "plan":
      return <PlanView markdown={String(value)} />;
    case "diff":
      return <DiffView diff={String(value)} comments={comments} onComment={onComment} />;
    case "markdown":
      return <Markdown text={String(value)} />;
    case "findings":
      return <Findings list={Array.isArray(value) ? value : []} />;
    case "list":
      return (
        <ul>
          {(value as string[]).map((item) => (
            <li>{item}</li>
          ))}
        </ul>
      );
    default:
      return <pre class="code-block" tabIndex={0}>{typeof value === "string" ? value : JSON.stringify(value, null, 2)}</pre>;
  }
}
