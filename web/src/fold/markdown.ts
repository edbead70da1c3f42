// Markdown as HTML in which nothing comes from outside: tags in the text are text, pictures are their words, and links lead to pages and
// letters only. It is cleaned once more before it is shown. Knows no DOM.

import { Marked } from "marked";

import { withoutTurns } from "./hidden";

/** The only addresses of links. */
export const ADDRESS = /^(?:https?:|mailto:)/i;
/** Headings are below those of the page: a first level is its fourth. */
const BELOW = 3;

const marked = new Marked({
  async: false,
  gfm: true,
  walkTokens: (token) => {
    if (token.type === "heading") token["depth"] = Math.min(token["depth"] + BELOW, 6);
  },
  renderer: {
    html: ({ text }) => escape(text),
    image: ({ text }) => escape(text),
    link({ href, tokens }) {
      const words = this.parser.parseInline(tokens);
      return ADDRESS.test(href) ? `<a href="${escape(href)}">${words}</a>` : words;
    },
  },
});

export function htmlOf(text: string): string {
  return marked.parse(withoutTurns(text), { async: false });
}

function escape(text: string): string {
  return text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;").replace(/"/g, "&quot;");
}
