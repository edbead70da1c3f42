// What a run has used: by role, and of its limits.

import { costOf, dollarsText, tokensText } from "../../fold/journal";
import type { Limit, Work } from "../../fold/work";

export function CostPart({ work: { used, roles, limits } }: { work: Work }) {
  if (used.cost === 0 && used.tokens === 0) return null;
  return (
    <div class="stack work-part">
      <table class="work-cost">
        <caption>Cost by role</caption>
        <thead>
          <tr>
            <th scope="col">Role</th>
            <th scope="col">Tokens</th>
            <th scope="col">Cost</th>
          </tr>
        </thead>
        <tbody>
          {roles.map(({ role, tokens, cost }) => (
            <tr key={role}>
              <th scope="row">{role}</th>
              <td title={tokens.toLocaleString("en")}>{tokensText(tokens)}</td>
              <td>{costOf(cost) ?? "–"}</td>
            </tr>
          ))}
        </tbody>
        <tfoot>
          <tr>
            <th scope="row">all</th>
            <td title={used.tokens.toLocaleString("en")}>{tokensText(used.tokens)}</td>
            <td>{costOf(used.cost) ?? "–"}</td>
          </tr>
        </tfoot>
      </table>
      {limits.map((limit) => (
        <p key={limit.name} class="row">
          <span class="soft">Limit of the run</span>
          <span>{limitText(limit)}</span>
          {limit.used >= limit.limit && (
            <span class="mark" data-kind="warn">
              used up
            </span>
          )}
        </p>
      ))}
    </div>
  );
}

function limitText({ name, used, limit }: Limit): string {
  return name === "Cost" ? `${dollarsText(used)} of ${dollarsText(limit)}` : `${tokensText(used)} of ${tokensText(limit)} tokens`;
}
