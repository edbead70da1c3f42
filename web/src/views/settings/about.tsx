// The server: its version, and where its descriptions are.

import { useEffect } from "preact/hooks";

import { SERVER } from "../../api/address";
import { readServerInfo, serverInfo } from "../../live/server";

const PAGES = [
  { path: "/docs", name: "Routes", about: "of its API, to read and to try" },
  { path: "/openapi.json", name: "OpenAPI", about: "the same for programs; it needs the key, if the server has keys" },
];

export function About() {
  useEffect(readServerInfo, []);
  const info = serverInfo.value;
  return (
    <section class="card stack">
      <h2>About</h2>
      <dl class="facts">
        <dt>Server</dt>
        <dd>{location.origin + SERVER}</dd>
        <dt>Version</dt>
        <dd>{info === null ? <span class="soft">not known</span> : `superstep ${info.version}`}</dd>
        {PAGES.map(({ path, name, about }) => [
          <dt>{name}</dt>,
          <dd>
            <a class="lone-link" href={SERVER + path} target="_blank" rel="noopener">
              {path}
            </a>{" "}
            <span class="soft">{about}</span>
          </dd>,
        ])}
      </dl>
    </section>
  );
}
