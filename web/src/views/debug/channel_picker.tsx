// The channels of a state, of which one is chosen to be edited.

import { useEffect, useState } from "preact/hooks";

interface PickerProps {
  /** Null if they could not be loaded. */
  channels: Promise<string[] | null>;
  onChoose: (channel: string) => void;
}

export function ChannelPicker({ channels, onChoose }: PickerProps) {
  const [names, setNames] = useState<string[]>([]);
  useEffect(() => void channels.then((found) => setNames(found ?? [])), [channels]);
  if (names.length === 0) return null;
  return (
    <label class="field">
      <span class="field-label">Edit a channel</span>
      <span class="field-about">Its present value comes into the state below.</span>
      <select value="" onChange={(event) => (onChoose(event.currentTarget.value), (event.currentTarget.value = ""))}>
        <option value="">choose</option>
        {names.map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}
