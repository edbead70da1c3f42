// Which view an address has. Knows the views by name only.

import { Empty } from "../parts/notes";
import { href } from "../routing/navigation";
import type { Route } from "../routing/routes";
import { CheckpointDiff } from "./debug/diff";
import { Inbox } from "./inbox/inbox";
import { RunView } from "./run/run";
import { Settings } from "./settings/settings";
import { Spend } from "./spend/spend";
import { Start } from "./start/start";
import { Threads } from "./threads/threads";
import { TaskView } from "./task/task";

export function View({ route }: { route: Route }) {
  switch (route.view) {
    case "inbox":
      return <Inbox />;
    case "diff":
      return <CheckpointDiff thread={route.thread} from={route.from} to={route.to} other={route.other} />;
    case "threads":
      return <Threads route={route} />;
    case "start":
      return <Start graph={route.graph} />;
    case "spend":
      return <Spend />;
    case "thread":
      return <RunView key={route.thread} thread={route.thread} checkpoint={route.checkpoint} />;
    case "task":
      return <TaskView key={JSON.stringify(route)} thread={route.thread} checkpoint={route.checkpoint} task={route.task} within={route.within} />;
    case "settings":
      return <Settings />;
    default:
      return <Unknown route={route} />;
  }
}

function Unknown({ route }: { route: Route }) {
  return (
    <>
      <h1>Not found</h1>
      <Empty title="There is no such page">
        <p>
          Nothing is at <code>{route.view === "unknown" ? route.path : route.view}</code>.
        </p>
        <p>
          <a href={href({ view: "inbox" })}>Go to the inbox</a>
        </p>
      </Empty>
    </>
  );
}
