// Findings of reviewers and verifiers.

import type { Json } from "../api/types";

export function Findings({ list }: { list: Json[] }) {
  return <pre class="code-block" tabIndex={0}>{JSON.stringify(list, null, 2)}</pre>;
}
