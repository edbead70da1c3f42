// The key that is used, as the server knows it.

import { useEffect } from "preact/hooks";

import { readServerInfo, serverInfo } from "../../live/server";
import { Visible } from "../../parts/visible";

const ROLES = {
  read: "It reads.",
  answer: "It reads, and answers questions.",
  run: "It reads, answers, and starts, changes and cancels runs.",
  admin: "It may do everything, also delete.",
};

export function KeyFacts() {
  useEffect(readServerInfo, []);
  const caller = serverInfo.value?.caller;
  if (caller === undefined) return null;
  return (
    <p class={caller == null ? "soft" : undefined}>
      {caller === null && "This server has no keys: everyone who reaches it may do everything."}
      {caller != null && (
        <>
          The key “<Visible text={caller.name} />” has the role <strong>{caller.role}</strong>. <span class="soft">{ROLES[caller.role]}</span>
        </>
      )}
    </p>
  );
}

/** Says where the keys of the server are listed: no page has them. */
export function KeysHelp() {
  return (
    <details>
      <summary>Other keys of this server</summary>
      <p class="soft">
        Keys are listed and revoked where the server runs: <code>superstep keys list --api-keys FILE</code> shows their names and roles, <code>superstep keys revoke NAME --api-keys FILE</code> ends one at once.
      </p>
    </details>
  );
}
