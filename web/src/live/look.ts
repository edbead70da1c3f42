// Reads again what changes without an event, while somebody may look at the page. Knows no request.

/** The time between two looks, in milliseconds. */
const REST = 30_000;

/** Calls `look` again and again while the page is visible, and when it becomes so; returns the function that ends it. */
export function whileVisible(look: () => void, rest = REST): () => void {
  const lookIfSeen = (): void => void (document.hidden || look());
  const timer = setInterval(lookIfSeen, rest);
  document.addEventListener("visibilitychange", lookIfSeen);
  return () => {
    clearInterval(timer);
    document.removeEventListener("visibilitychange", lookIfSeen);
  };
}
