// The key that is used, as the server knows it, and how others are made.

import { useEffect } from "preact/hooks";

import { readServerInfo, serverInfo } from "../../live/server";

const ROLES = {
  read: "It reads.",
  answer: "It reads, and answers questions.",
  run: "It reads, answers, and starts, changes and cancels runs.",
  admin: "It may do everything, also delete.",
};

export function KeyFacts() {
  useEffect(readServerInfo, []);
  const caller = serverInfo.value?.caller;
  return (
    <>
      {caller != null && (
        <p>
          The key “{caller.name}” has the role <strong>{caller.role}</strong>. <span class="soft">{ROLES[caller.role]}</span>
        </p>
      )}
      {caller === null && <p class="soft">This server has no keys: everyone who reaches it may do everything.</p>}
      <details>
        <summary>Keys of this server</summary>
        <p class="soft">
          Keys are made, listed and revoked where the server runs: <code>superstep keys list --api-keys FILE</code> shows their names and roles, <code>superstep keys revoke NAME --api-keys FILE</code> ends one at once.
        </p>
      </details>
    </>
  );
}
