// Long work in parts, between which the page answers. Knows no work.

/** The time after which others have their turn, in milliseconds. */
const SLICE = 12;

/** Returns a function that is awaited in a loop: most times it resolves at once, and after each slice of work once the page had its turn. */
export function breathing(): () => Promise<void> | undefined {
  let started = performance.now();
  return () => {
    if (performance.now() - started < SLICE) return undefined;
    return nextTask().then(() => void (started = performance.now()));
  };
}

function nextTask(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => (port1.close(), resolve());
    port2.postMessage(null);
  });
}
