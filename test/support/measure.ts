/** What something took, on a machine that may be slow, busy with others, or stand still for seconds. */

const TICK_MS = 20;

/**
 * Until `work` is done, how long the event loop turned. Seconds in which the machine, or this process alone, stood still
 * count as one turn: what runs in this process, such as a test's sidecar and relay, could do nothing then.
 */
export async function awakeMs(work: () => Promise<unknown>): Promise<number> {
  let ms = 0;
  const timer = setInterval(() => {
    ms += TICK_MS;
  }, TICK_MS);
  try {
    await work();
  } finally {
    clearInterval(timer);
  }
  return ms;
}

/** What half of them are below: one that the machine held up does not count. */
export function median(values: readonly number[]): number {
  return [...values].sort((one, other) => one - other)[Math.floor(values.length / 2)] ?? Number.NaN;
}

/** The CPU time of this process while `work` runs, which others on the machine do not lengthen. */
export async function cpuMsOf(work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}
