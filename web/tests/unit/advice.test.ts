// What to do about a request that was refused or had no answer.

import { expect, test } from "vitest";

import { advice } from "../../src/fold/advice";

const SEND = "POST /threads/tea/runs";

test.each<[string, string, number, string, string | RegExp | null]>([
  ["no answer to what is read", "GET /threads", 0, "", "Start the server again with serve; this page then goes on by itself."],
  ["no answer to what is read with a body", "POST /threads/search", 0, "", /goes on by itself/],
  ["no answer about a thread that is called check", "DELETE /threads/check", 0, "", /not known/],
  ["no answer to what is sent", SEND, 0, "", /^It is not known whether it was stored\. Start the server again with serve, look at the present state, and send it again\.$/],
  ["a thread that is called search", "POST /threads/search/runs", 0, "", /not known/],
  ["a failure at what is read", "GET /health", 503, "", /^The server has failed; its log may say more\. Try again\.$/],
  ["a failure at what is sent", SEND, 500, "", /not known whether it was stored: look/],
  ["no key", SEND, 401, "", /Settings/],
  ["a role that is too low", SEND, 403, "POST /threads/tea/runs needs the role run; the key `ann` has the role read", /key whose role/],
  ["a name that may not answer", SEND, 403, "question 1 does not take this answer: `dan` is not among ada, ben", /names who may answer/],
  ["an origin that may not send", SEND, 403, "pages of http://a may not send this: allow the origin (`Options::allow_origin`)", null],
  ["nothing there", "GET /threads/tea", 404, "", /deleted/],
  ["an answer after another", SEND, 409, "question 1 was answered already", /^Somebody was faster/],
  ["a run after another", SEND, 409, "the thread `tea` has a run already", /^Somebody was faster/],
  ["a second vote", SEND, 409, "question 1 does not take this answer: `ada` has answered already", /each of them answers once/],
  ["a name that is taken", "POST /threads/tea/fork", 409, "the thread `tea` exists: choose another name", null],
  ["a thread that runs", "DELETE /threads/tea", 409, "the thread `tea` has runs that have not ended: cancel them first", null],
  ["a question that has expired", SEND, 409, "question 1 has expired", /^Nothing was stored\. Look/],
  ["a fault of what is sent", SEND, 422, "input.n: must be a number", /^Nothing was stored\. Correct/],
  ["a fault of what is read", "GET /spend?since=x", 422, "", /^Correct what/],
])("%s", (_, what, status, message, expected) => {
  const found = advice({ what, status, message });
  if (expected instanceof RegExp) expect(found).toMatch(expected);
  else expect(found).toBe(expected);
});
