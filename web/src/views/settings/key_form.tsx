// The key of the server, typed in once. Knows no request.

import { useId, useState } from "preact/hooks";

import { isKeyKept, key, useKey } from "../../api/key";
import { Button } from "../../parts/button";
import { KeyFacts, KeysHelp } from "./key_facts";

export function KeyForm({ isAsked = false }: { isAsked?: boolean }) {
  const [text, setText] = useState("");
  const [isKept, setKept] = useState(isKeyKept());
  const [isUsed, setUsed] = useState(false);
  const id = useId();
  const Heading = isAsked ? "h1" : "h2";
  const use = (event: Event): void => {
    event.preventDefault();
    useKey(text.trim(), isKept);
    setText("");
    setUsed(true);
  };
  return (
    <form class="card stack" onSubmit={use}>
      <Heading>{isAsked ? "This server asks for a key" : "Key"}</Heading>
      {!isAsked && <KeyFacts />}
      <p class="soft">
        {isAsked && key.value !== null ? "The key was refused: it is unknown or was revoked. " : ""}
        <code>superstep keys add NAME --role ROLE --api-keys FILE</code> prints one, once. It stays in this tab's memory.
      </p>
      <div class="field">
        <label class="field-label" for={id}>
          Key
        </label>
        <input id={id} class="masked" type="text" autocomplete="off" autocapitalize="off" spellcheck={false} value={text} onInput={(event) => setText(event.currentTarget.value)} />
      </div>
      <label class="field-check">
        <input type="checkbox" checked={isKept} onChange={(event) => setKept(event.currentTarget.checked)} />
        Keep it until this tab is closed
      </label>
      <div class="row">
        <Button kind="main" type="submit">
          Use
        </Button>
        <span role="status">{isUsed && !isAsked ? (key.value === null ? "No key is used." : "The key is used from now on.") : ""}</span>
      </div>
      {!isAsked && <KeysHelp />}
    </form>
  );
}
