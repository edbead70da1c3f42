// A short mark of texts, by which they are known again in this browser (FNV-1a). Knows no text from inside.

export function hashOf(texts: string[]): string {
  let hash = 0x811c9dc5;
  for (const text of texts) for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return (hash >>> 0).toString(36);
}
