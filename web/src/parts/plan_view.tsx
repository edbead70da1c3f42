// A plan as a person reads it.

import { Markdown } from "./markdown";

export function PlanView({ markdown }: { markdown: string }) {
  return <Markdown text={markdown} />;
}
