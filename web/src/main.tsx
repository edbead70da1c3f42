// The start of the page.

// The shared styles come first, so that those of a view count before them.
import "./style/tokens.css";
import "./style/base.css";
import "./style/parts.css";

import { render } from "preact";

import { watchActivity } from "./api/activity";
import { App } from "./app";
import { countWaiting } from "./live/waiting";
import { useTheme } from "./live/theme";
import { showTitle } from "./live/title";
import { handleKeys } from "./parts/keys";
import { follow } from "./routing/navigation";

const root = document.getElementById("page");
if (root !== null) {
  useTheme();
  follow();
  handleKeys();
  showTitle();
  countWaiting();
  watchActivity();
  render(<App />, root);
}
