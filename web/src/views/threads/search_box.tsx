// The text that names are searched for. It is in the address a moment after the last key; one entry of the history for what is typed in
// one go, so that Back leads to the list before.

import { useEffect, useRef, useState } from "preact/hooks";

interface SearchBoxProps {
  search: string;
  onSearch: (search: string, isSameGo: boolean) => void;
}

const PAUSE = 200;

export function SearchBox({ search, onSearch }: SearchBoxProps) {
  const [text, setText] = useState(search);
  const now = useRef({ sent: search, isSameGo: false, timer: 0 });
  useEffect(() => {
    if (search === now.current.sent) return;
    now.current = { ...now.current, sent: search, isSameGo: false };
    setText(search);
  }, [search]);
  useEffect(() => () => clearTimeout(now.current.timer), []);
  const send = (words: string): void => {
    clearTimeout(now.current.timer);
    if (words === now.current.sent) return;
    now.current.sent = words;
    onSearch(words, now.current.isSameGo);
    now.current.isSameGo = true;
  };
  const typed = (words: string): void => {
    setText(words);
    clearTimeout(now.current.timer);
    now.current.timer = setTimeout(() => send(words), PAUSE) as unknown as number;
  };
  return (
    <form role="search" class="threads-search" onSubmit={(event) => (event.preventDefault(), send(text))}>
      <input
        type="search"
        class="input"
        aria-label="Search"
        placeholder="Search names"
        autocomplete="off"
        spellcheck={false}
        value={text}
        onInput={(event) => typed(event.currentTarget.value)}
        onBlur={() => (send(text), (now.current.isSameGo = false))}
      />
    </form>
  );
}
