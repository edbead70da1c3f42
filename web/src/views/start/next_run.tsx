// The date of the next run of a schedule, in words.

import type { Cron } from "../../api/types";
import { Until } from "../../parts/time";

const DATE = new Intl.DateTimeFormat("en-GB", { weekday: "long", day: "numeric", month: "long", year: "numeric", hour: "2-digit", minute: "2-digit" });

export function NextRun({ cron }: { cron: Cron }) {
  if (cron.next_run_date === null) return <>{cron.enabled === false ? "It is paused." : "It has no further run."}</>;
  return (
    <>
      Next run: {DATE.format(Date.parse(cron.next_run_date))}, <Until at={cron.next_run_date} />.
    </>
  );
}
