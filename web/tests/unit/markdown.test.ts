// Markdown of agents and models: no tag, address or character of it becomes a part of the page.

import { describe, expect, test } from "vitest";

import { htmlOf } from "../../src/fold/markdown";

describe("markdown", () => {
  test.each<[string, string]>([
    ["*so* `code`", "<p><em>so</em> <code>code</code></p>"],
    ["# One", "<h4>One</h4>"],
    ["#### Four", "<h6>Four</h6>"],
    ["<img src=x onerror=alert(1)>", "&lt;img src=x onerror=alert(1)&gt;"],
    ["a <b>bold</b> word", "<p>a &lt;b&gt;bold&lt;/b&gt; word</p>"],
    ["<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"],
    ["<!-- hidden --> seen", "&lt;!-- hidden --&gt; seen"],
    ["[click](javascript:alert(1))", "<p>click</p>"],
    ["[click](JaVaScRiPt:alert(1))", "<p>click</p>"],
    ["[click](data:text/html,x)", "<p>click</p>"],
    ["[click](/ui/settings)", "<p>click</p>"],
    ['[click](<https://x.example/"onmouseover="alert(1)>)', '<p><a href="https://x.example/&quot;onmouseover=&quot;alert(1)">click</a></p>'],
    ["[ok](https://example.org)", '<p><a href="https://example.org">ok</a></p>'],
    ["![a picture](https://evil.example/x.png)", "<p>a picture</p>"],
    ["<https://example.org>", '<p><a href="https://example.org">https://example.org</a></p>'],
    ["[a<img src=x>](https://example.org)", '<p><a href="https://example.org">a&lt;img src=x&gt;</a></p>'],
    ["a\u202Eb", "<p>a[U+202E]b</p>"],
  ])("%j", (text, html) => {
    expect(htmlOf(text).trim()).toBe(html);
  });

  test("a long text is read in one go", () => {
    expect(htmlOf("*a* ".repeat(5000)).length).toBeGreaterThan(5000);
  });
});
