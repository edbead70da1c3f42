// The parts that the programs of checks share: reading streams, waiting, and running the checks.

export async function collect(events) {
  const all = [];
  for await (const event of events) all.push(event);
  return all;
}

export async function until(claim) {
  for (let tries = 0; tries < 200; tries += 1) {
    const found = await claim();
    if (found) return found;
    await new Promise((done) => setTimeout(done, 20));
  }
  throw new Error("it did not happen");
}

// Runs the checks whose names contain one of the words, or all; prints those that fail, and ends with 1 then.
export async function run(checks, words, what) {
  let failed = 0;
  const wanted = Object.entries(checks).filter(([name]) => !words.length || words.some((word) => name.includes(word)));
  for (const [name, check] of wanted) {
    let timer;
    const late = new Promise((_, reject) => (timer = setTimeout(() => reject(new Error("it takes too long")), 30_000)));
    try {
      await Promise.race([check(), late]);
    } catch (error) {
      failed += 1;
      console.log(`FAILED ${name}\n${error.stack ?? error}`);
    }
    clearTimeout(timer);
  }
  console.log(`${wanted.length} ${what}, ${failed} failed`);
  process.exit(failed ? 1 : 0);
}
