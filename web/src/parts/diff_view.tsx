// A unified diff.

export interface LineComment {
  file: string;
  line: number;
  text: string;
}

export function DiffView({ diff }: { diff: string; comments: LineComment[]; onComment: (comments: LineComment[]) => void }) {
  return <pre class="code-block" tabIndex={0}>{diff}</pre>;
}
