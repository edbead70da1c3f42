// Markdown as elements: the only place where text becomes HTML, and only after it was cleaned. Pictures and what could reach another
// server are left out; links open elsewhere and say nothing of this page.

import DOMPurify from "dompurify";
import { useMemo } from "preact/hooks";

import { ADDRESS, htmlOf } from "../fold/markdown";

const TAGS = [
  ..."p br hr strong em del code pre blockquote ul ol li h1 h2 h3 h4 h5 h6 table thead tbody tr th td a input".split(" "),
];
const ATTRIBUTES = ["href", "align", "type", "checked", "disabled", "start"];

DOMPurify.addHook("afterSanitizeAttributes", (node) => {
  if (node.tagName === "A") {
    node.setAttribute("rel", "noopener noreferrer nofollow");
    node.setAttribute("target", "_blank");
  }
  if (node.tagName === "INPUT") {
    node.setAttribute("type", "checkbox");
    node.setAttribute("disabled", "");
    node.setAttribute("aria-label", "done");
  }
});

export function Markdown({ text }: { text: string }) {
  const html = useMemo(() => clean(text), [text]);
  return <div class="markdown" dangerouslySetInnerHTML={{ __html: html }} />;
}

/** Returns the HTML of markdown text without anything that could run, load or look like a part of the page. */
export function clean(text: string): string {
  return DOMPurify.sanitize(htmlOf(text), { ALLOWED_TAGS: TAGS, ALLOWED_ATTR: ATTRIBUTES, ALLOWED_URI_REGEXP: ADDRESS, ALLOW_DATA_ATTR: false, ALLOW_ARIA_ATTR: false });
}
