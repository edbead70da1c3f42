// What was spent on each of several things: a table of numbers, with a bar for each.

import { useState } from "preact/hooks";

import { shares, tokensText, type SpentOn } from "../../fold/spend";
import { costText } from "../../fold/threads";
import { Button } from "../../parts/button";
import { Visible } from "../../parts/visible";
import { href } from "../../routing/navigation";

const SHOWN = 12;

export function SpendTable({ title, of, parts }: { title: string; of: string; parts: SpentOn[] }) {
  const [isWhole, setWhole] = useState(false);
  if (parts.length === 0) return null;
  const bars = shares(parts);
  const shown = isWhole ? parts : parts.slice(0, SHOWN);
  return (
    <section class="card spend-card">
      <table class="spend-table">
        <caption>{title}</caption>
        <thead>
          <tr>
            <th scope="col">{of}</th>
            <th scope="col" class="spend-number">
              Cost
            </th>
            <th scope="col" class="spend-number">
              Tokens
            </th>
          </tr>
        </thead>
        <tbody>
          {shown.map((part, at) => (
            <tr key={`${part.thread ?? ""}\n${part.name}`}>
              <th scope="row">
                <span class="spend-name">
                  {part.name === "" ? <span class="soft">(none)</span> : <Visible text={part.name} />}
                  {part.thread !== null && (
                    <>
                      {" "}
                      <a class="spend-thread" href={href({ view: "thread", thread: part.thread })}>
                        <Visible text={part.thread} />
                      </a>
                    </>
                  )}
                </span>
                <Bar share={bars[at] ?? 0} />
              </th>
              <td class="spend-number">{part.cost === 0 && part.unpriced > 0 ? <span class="soft">not known</span> : costText(part.cost)}</td>
              <td class="spend-number" title={part.tokens.toLocaleString("en")}>
                {tokensText(part.tokens)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {parts.length > shown.length && (
        <Button kind="quiet" onClick={() => setWhole(true)}>
          Show all {parts.length.toLocaleString("en")}
        </Button>
      )}
    </section>
  );
}

function Bar({ share }: { share: number }) {
  return (
    <svg class="spend-bar" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
      <rect class="spend-bar-all" width="100" height="4" />
      <rect class="spend-bar-part" width={share} height="4" />
    </svg>
  );
}
