// Which view an address has. Knows the views by name only.

import { lazyView } from "../parts/lazy_view";
import { Empty } from "../parts/notes";
import { href } from "../routing/navigation";
import type { Route } from "../routing/routes";
import { Inbox } from "./inbox/inbox";

const CheckpointDiff = lazyView("the differences", async () => (await import("./debug/diff")).CheckpointDiff);
const RunView = lazyView("the run", async () => (await import("./run/run")).RunView);
const Settings = lazyView("the settings", async () => (await import("./settings/settings")).Settings);
const Spend = lazyView("the costs", async () => (await import("./spend/spend")).Spend);
const Start = lazyView("the graphs", async () => (await import("./start/start")).Start);
const TaskView = lazyView("the task", async () => (await import("./task/task")).TaskView);
const Threads = lazyView("the threads", async () => (await import("./threads/threads")).Threads);

export function View({ route }: { route: Route }) {
  switch (route.view) {
    case "inbox":
      return <Inbox />;
    case "diff":
      return <CheckpointDiff thread={route.thread} from={route.from} to={route.to} other={route.other} />;
    case "threads":
      return <Threads route={route} />;
    case "start":
      return <Start graph={route.graph} from={route.from} thread={route.thread} />;
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
          <a class="lone-link" href={href({ view: "inbox" })}>Go to the inbox</a>
        </p>
      </Empty>
    </>
  );
}
