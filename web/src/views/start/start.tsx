// Where runs begin: the graphs, and the form of one of them.

import { useResource } from "../../api/resource";
import type { StartableGraph } from "../../fold/start";
import { Empty, ErrorNote, Loading } from "../../parts/notes";
import { Visible } from "../../parts/visible";
import { href } from "../../routing/navigation";
import { Crons } from "./crons";
import { loadGraphs } from "./requests";
import { StartGraph } from "./start_graph";
import "./start.css";

interface StartProps {
  graph: string | undefined;
  /** The thread whose last input fills the form. */
  from: string | undefined;
  /** The thread on which the run starts; a new one if it is left out. */
  thread: string | undefined;
}

export function Start({ graph, from, thread }: StartProps) {
  const { value: graphs, error, reload } = useResource("graphs", loadGraphs);
  const chosen = graphs?.find((one) => one.graph === graph);
  return (
    <div class="start stack">
      {graph !== undefined && (
        <p class="start-back">
          <a class="lone-link" href={href({ view: "start", thread })}>All graphs</a>
        </p>
      )}
      <h1>{graph === undefined ? "Start" : `Start ${graph}`}</h1>
      {thread !== undefined && (
        <p class="note">
          The run starts on the thread <a href={href({ view: "thread", thread })}><Visible text={thread} /></a>.{graph === undefined && " Choose its graph."}
        </p>
      )}
      {error !== undefined && <ErrorNote error={error} onRetry={reload} />}
      {graphs === undefined && error === undefined && <Loading what="the graphs" />}
      {graphs !== undefined && graph === undefined && <Overview graphs={graphs} thread={thread} />}
      {graphs !== undefined && graph !== undefined && (chosen === undefined ? <NoGraph graph={graph} /> : <StartGraph key={JSON.stringify([graph, from, thread])} graph={chosen} from={from} thread={thread} />)}
    </div>
  );
}

function Overview({ graphs, thread }: { graphs: StartableGraph[]; thread: string | undefined }) {
  if (graphs.length === 0) return <NoGraphs />;
  return (
    <>
      <ul class="start-graphs" role="list">
        {graphs.map((graph) => (
          <li class="card start-graph">
            <h2>
              <a href={href({ view: "start", graph: graph.graph, thread })}>{graph.graph}</a>
            </h2>
            {graph.about !== null && <p class="soft">{graph.about}</p>}
            <Marks graph={graph} />
          </li>
        ))}
      </ul>
      <Crons graphs={graphs} />
    </>
  );
}

function Marks({ graph }: { graph: StartableGraph }) {
  const others = graph.assistants.length - 1;
  if (graph.answered_by_people !== true && others < 1) return null;
  return (
    <p class="row">
      {graph.answered_by_people === true && <span class="mark">asks people</span>}
      {others > 0 && <span class="mark">{others === 1 ? "1 more assistant" : `${others} more assistants`}</span>}
    </p>
  );
}

function NoGraphs() {
  return (
    <Empty title="This server has no graph">
      <p>
        A program adds its graphs with <code>App::graph</code>, and <code>serve</code> shows them here.
      </p>
    </Empty>
  );
}

function NoGraph({ graph }: { graph: string }) {
  return (
    <Empty title={`There is no graph named ${graph}`}>
      <p>
        <a class="lone-link" href={href({ view: "start" })}>Show the graphs of this server</a>
      </p>
    </Empty>
  );
}
