// What of the threads is listed: by name, status and graph.

import { useResource } from "../../api/resource";
import { request } from "../../api/source";
import { STATUSES, type Filter, type ThreadStatus } from "../../fold/threads";
import { SearchBox } from "./search_box";

interface FiltersProps {
  filter: Filter;
  onFilter: (filter: Filter, isSameGo: boolean) => void;
}

export function Filters({ filter, onFilter }: FiltersProps) {
  const graphs = useResource("graphs of threads", loadGraphs).value ?? [];
  const names = filter.graph === "" || graphs.includes(filter.graph) ? graphs : [filter.graph, ...graphs];
  return (
    <div class="threads-filters">
      <SearchBox search={filter.search} onSearch={(search, isSameGo) => onFilter({ ...filter, search }, isSameGo)} />
      <Choice name="Status" all="All statuses" value={filter.status} choices={STATUSES} onChoose={(status) => onFilter({ ...filter, status: status as ThreadStatus | "" }, false)} />
      <Choice name="Graph" all="All graphs" value={filter.graph} choices={names.map((name) => ({ value: name, text: name }))} onChoose={(graph) => onFilter({ ...filter, graph }, false)} />
    </div>
  );
}

function Choice({ name, all, value, choices, onChoose }: { name: string; all: string; value: string; choices: { value: string; text: string }[]; onChoose: (value: string) => void }) {
  return (
    <select class="input" aria-label={name} value={value} onChange={(event) => onChoose(event.currentTarget.value)}>
      <option value="">{all}</option>
      {choices.map((choice) => (
        <option value={choice.value}>{choice.text}</option>
      ))}
    </select>
  );
}

async function loadGraphs(signal: AbortSignal): Promise<string[]> {
  const assistants = await request<{ graph_id: string }[]>("/assistants/search", { method: "POST", body: { limit: 1000, select: ["graph_id"] }, signal });
  return [...new Set(assistants.map(({ graph_id }) => graph_id))].sort();
}
