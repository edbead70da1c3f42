// The recorded events of a task, closed at first.

import { useRef, useState } from "preact/hooks";

import type { TaskDetail } from "../../api/run_types";
import { useRowsWindow } from "../../parts/rows_window";
import { Visible } from "../../parts/visible";

const ROW = 28;

export function EventsPart({ events }: { events: NonNullable<TaskDetail["events"]> }) {
  const [isOpen, setOpen] = useState(false);
  if (events.length === 0) return null;
  return (
    <details class="task-events" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{events.length === 1 ? "1 event" : `${events.length} events`}</summary>
      {isOpen && <Rows events={events} />}
    </details>
  );
}

function Rows({ events }: { events: NonNullable<TaskDetail["events"]> }) {
  const scroller = useRef<HTMLDivElement>(null);
  const { from, to, above, below } = useRowsWindow(scroller, events.length, ROW);
  return (
    <div class="task-event-rows" ref={scroller} tabIndex={0} role="region" aria-label="Events">
      <ol role="list" style={{ paddingTop: `${above}px`, paddingBottom: `${below}px` }}>
        {events.slice(from, to).map(({ kind, ...event }, at) => (
          <li class="task-event" key={from + at}>
            <span class="mark">{kind}</span> <code><Visible text={JSON.stringify(event).slice(0, 400)} /></code>
          </li>
        ))}
      </ol>
    </div>
  );
}
