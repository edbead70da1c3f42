// Which two checkpoints are compared.

import { useState } from "preact/hooks";

import { Button } from "../../parts/button";
import { go } from "../../routing/navigation";

interface PickerProps {
  thread: string;
  from: string;
  to: string;
  other?: string | undefined;
}

export function DiffPicker({ thread, from, to, other }: PickerProps) {
  const [old, setOld] = useState(from);
  const [now, setNow] = useState(to);
  const [second, setSecond] = useState(other ?? "");
  const isNumber = /^\d+$/.test(old) && /^\d+$/.test(now);
  const compare = (event: Event): void => {
    event.preventDefault();
    const at = { view: "diff" as const, thread, from: old, to: now };
    if (isNumber) go(second === "" ? at : { ...at, other: second });
  };
  return (
    <form class="diff-picker" onSubmit={compare}>
      <label class="field">
        <span class="field-label">From</span>
        <input inputMode="numeric" value={old} onInput={(event) => setOld(event.currentTarget.value.trim())} />
      </label>
      <label class="field">
        <span class="field-label">To</span>
        <input inputMode="numeric" value={now} onInput={(event) => setNow(event.currentTarget.value.trim())} />
      </label>
      <label class="field">
        <span class="field-label">Of another thread</span>
        <input value={second} placeholder={thread} onInput={(event) => setSecond(event.currentTarget.value)} />
      </label>
      <Button type="submit" disabled={!isNumber}>
        Compare
      </Button>
    </form>
  );
}
