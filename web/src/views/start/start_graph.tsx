// One graph to start: what it does, its assistants, and the form of the chosen one's input.

import { useState } from "preact/hooks";

import { useResource } from "../../api/resource";
import type { StartableGraph } from "../../fold/start";
import { ErrorNote, Loading } from "../../parts/notes";
import { RoleNote } from "../../parts/role_note";
import { Crons } from "./crons";
import { loadEarlierInput, loadInput } from "./requests";
import { StartForm } from "./start_form";

interface StartGraphProps {
  graph: StartableGraph;
  from: string | undefined;
  thread: string | undefined;
}

export function StartGraph({ graph, from, thread }: StartGraphProps) {
  const [chosen, setChosen] = useState(graph.assistants[0]?.assistant_id ?? "");
  const assistant = graph.assistants.find(({ assistant_id }) => assistant_id === chosen);
  const { value: schema, error, reload } = useResource(`input ${chosen}`, (signal) => loadInput(chosen, signal));
  // An input that cannot be read leaves the form empty.
  const { value: earlier } = useResource(`earlier input ${from}`, (signal) => (from === undefined ? Promise.resolve(null) : loadEarlierInput(from, signal).catch(() => null)));
  const isLoading = schema === undefined || earlier === undefined;
  const [version, setVersion] = useState(0);
  return (
    <>
      {graph.about !== null && <p class="start-about">{graph.about}</p>}
      <RoleNote needs="run" what="start a run" />
      {graph.assistants.length > 1 && (
        <label class="field start-assistant">
          <span class="field-label">Assistant</span>
          <select value={chosen} onChange={(event) => setChosen(event.currentTarget.value)}>
            {graph.assistants.map(({ assistant_id, name }) => (
              <option value={assistant_id}>{name}</option>
            ))}
          </select>
          {assistant?.description != null && <span class="field-about">{assistant.description}</span>}
        </label>
      )}
      {error !== undefined && <ErrorNote error={error} onRetry={reload} />}
      {isLoading && error === undefined && <Loading what="the form" />}
      {!isLoading && <StartForm key={chosen} graph={graph.graph} assistant={chosen} schema={schema} from={from} earlier={earlier} thread={thread} onScheduled={() => setVersion(version + 1)} />}
      <Crons key={version} graphs={[graph]} />
    </>
  );
}
