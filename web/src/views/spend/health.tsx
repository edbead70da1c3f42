// The queue, the oldest question, and the processes that run threads.

import type { Health, Worker } from "../../fold/spend";
import { Ago } from "../../parts/time";
import { Visible } from "../../parts/visible";
import { href } from "../../routing/navigation";
import { Figure } from "./totals";

export function HealthCards({ health }: { health: Health }) {
  const { pending, running, oldestRun, questions, oldestQuestion, workers } = health;
  return (
    <>
      <dl class="spend-figures">
        <Figure name="Running" value={running.toLocaleString("en")} />
        <Figure name="In the queue" value={pending.toLocaleString("en")} about={oldestRun === null || pending === 0 ? undefined : <>the first since <Ago at={oldestRun} /></>} />
        <Figure
          name="Open questions"
          value={questions > 0 ? <a href={href({ view: "inbox" })}>{questions.toLocaleString("en")}</a> : "0"}
          about={oldestQuestion === null ? undefined : <>the oldest from <Ago at={oldestQuestion} /></>}
        />
        <Figure name="Workers" value={workers.length.toLocaleString("en")} about={workers.length === 0 ? "The server itself runs what is in the queue." : undefined} />
      </dl>
      {workers.length > 0 && <Workers workers={workers} />}
    </>
  );
}

function Workers({ workers }: { workers: Worker[] }) {
  return (
    <section class="card spend-card">
      <table class="spend-table spend-workers">
        <caption>Workers</caption>
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col" class="spend-wide">Graphs</th>
            <th scope="col" class="spend-number">Threads</th>
            <th scope="col" class="spend-number">Seen</th>
          </tr>
        </thead>
        <tbody>
          {workers.map((worker) => (
            <tr key={worker.name}>
              <th scope="row">
                <span class="spend-name"><Visible text={worker.name} /></span>{" "}
                <span class="soft">
                  {worker.host}
                  {worker.pid === null ? "" : `, process ${worker.pid}`}
                  {worker.version === "" ? "" : `, ${worker.version}`}
                </span>
              </th>
              <td class="spend-wide">{worker.graphs.join(", ")}</td>
              <td class="spend-number">{worker.threads.toLocaleString("en")}</td>
              <td class="spend-number">{worker.lastSeen === null ? "" : <Ago at={worker.lastSeen} />}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
