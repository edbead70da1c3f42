// Says before the first attempt that a key is not enough for what a view is for. Knows no view.

import { useEffect } from "preact/hooks";

import { mayAct, readServerInfo, serverInfo, type KeyRole } from "../live/server";
import { href } from "../routing/navigation";
import { Visible } from "./visible";

export function RoleNote({ needs, what }: { needs: KeyRole; what: string }) {
  useEffect(readServerInfo, []);
  const caller = serverInfo.value?.caller;
  if (mayAct(needs) || caller == null) return null;
  return (
    <p class="note" data-kind="warn">
      Your key “<Visible text={caller.name} />” has the role {caller.role}: to {what} needs the role {needs}. <a href={href({ view: "settings" })}>Use another key</a>
    </p>
  );
}
