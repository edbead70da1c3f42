// A plan that is edited as an answer.

import type { Ask, InboxItem, Json } from "../../api/types";
import type { Action } from "../../fold/actions";

interface PlanEditorProps {
  item: InboxItem;
  ask: Ask;
  action: Action;
  value: Json | undefined;
  onChange: (value: Json) => void;
}

export function PlanEditor({ ask, onChange }: PlanEditorProps) {
  return (
    <label class="field">
      <span class="field-label">Plan</span>
      <textarea rows={16} value={ask.draft ?? ""} onInput={(event) => onChange({ markdown: event.currentTarget.value })} />
    </label>
  );
}
