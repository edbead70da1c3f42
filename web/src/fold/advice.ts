// What to do about a request that was refused or had no answer. Knows no view, and no request.

export interface Failure {
  /** The request: `POST /threads/NAME/runs`. */
  what: string;
  /** The status of the answer; 0 if there was none. */
  status: number;
  message: string;
}

/** Requests that store nothing, though they have a body. */
const READS = /^GET |^POST .*\/(search|check|verify|what-if|stream\/events)(\?|$)/;
/** The end of a message that says what to do. */
const HINT = /: (answer|cancel|choose|create|delete|use) /;
const ROLE = /the role (read|answer|run|admin)\b/;
const NOT_TAKEN = /does not take this answer/;
const NAMED = "Nothing was stored. The question names who may answer it; each of them answers once.";
const UNKNOWN = "It is not known whether it was stored";

/** Returns what to do; null if the message says it. */
export function advice({ what, status, message }: Failure): string | null {
  const isRead = READS.test(what);
  if (status >= 500) return isRead ? "The server has failed; its log may say more. Try again." : `The server has failed; its log may say more. ${UNKNOWN}: look at the present state before you send it again.`;
  switch (status) {
    case 0:
      return isRead ? "Start the server again with serve; this page then goes on by itself." : `${UNKNOWN}. Start the server again with serve, look at the present state, and send it again.`;
    case 401:
      return "Type in a key under Settings; superstep keys add makes one.";
    case 403:
      return ROLE.test(message) ? "Use a key whose role allows it, under Settings." : NOT_TAKEN.test(message) ? NAMED : null;
    case 404:
      return "It may have been deleted. The list of threads shows what is there.";
    case 409:
      return conflictAdvice(message);
    default:
      return isRead ? "Correct what the text names, and try again." : "Nothing was stored. Correct what the text names, and try again.";
  }
}

function conflictAdvice(message: string): string | null {
  if (HINT.test(message)) return null;
  if (NOT_TAKEN.test(message)) return NAMED;
  if (/(answered|has a run) already/.test(message)) return "Somebody was faster. The page shows the present state; look again before you repeat it.";
  return "Nothing was stored. Look at the present state before you repeat it.";
}
