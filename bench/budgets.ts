/** Measures a key's echo beside three threads that reach their budgets, and whether these threads say so. */
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { clientKeyboard, keyEcho } from "./keys.ts";
import { percentile, type Row, ratioRow, withSidecar } from "./measure.ts";

const EAT = "const all = []; for (let n = 0; n < 1000; n++) all.push(Buffer.alloc(4194304, 1))";
/** Commands that each use up one resource without an end, so that all of them still run while keys are measured. */
const GREEDY = {
  memory: `while :; do node -e '${EAT}'; done`,
  pids: "bomb() { bomb | bomb & }; while :; do bomb; sleep 0.2; done",
  cpu: "while :; do :; done & while :; do :; done",
};
const SAYS = { memory: "of memory", pids: "processes:", cpu: "of the processors" };
const TELL_SECONDS = 90;

/** Measures keys before, beside and after the three threads; before and after are the baseline. */
export async function rowBudgets({ count, warmUp }: { count: number; warmUp: number }): Promise<Row[]> {
  const env = { THREAD_MEMORY: "256M", THREAD_CPU: "0.25", THREAD_PIDS: "64" };
  return withSidecar(env, async (measured) => {
    const { client, open, logFile } = measured;
    await open("key", "stty raw -echo; cat");
    const { budget } = await client.getThread("key");
    if (!budget || budget.notHeld.length > 0) {
      console.log(`this machine holds no budget of ${budget?.notHeld.join(", ") ?? "anything"}`);
      return [];
    }
    await sleep(300);
    const keyboard = clientKeyboard(measured, "key");
    await keyEcho(measured, "key", warmUp, keyboard);
    const before = await keyEcho(measured, "key", count, keyboard);
    const greedy = Object.entries(GREEDY);
    for (const [resource, command] of greedy) await open(resource, command);
    const told = () =>
      (["memory", "pids", "cpu"] as const).filter((resource) =>
        readFileSync(logFile(resource), "latin1")
          .split("\n")
          .some((line) => line.includes("has reached its budget of") && line.includes(SAYS[resource])),
      );
    for (let at = 0; told().length < greedy.length && at < TELL_SECONDS; at++) await sleep(1_000);
    const beside = await keyEcho(measured, "key", count * 2, keyboard);
    const saying = told();
    for (const [resource] of greedy) await client.killThread(resource);
    const after = await keyEcho(measured, "key", count, keyboard);
    const alone = [...before, ...after].sort((a, b) => a - b);
    const name = (what: string) => `key → echo ${what}, beside 3 threads at their budgets (ms)`;
    return [
      ratioRow(name("p50"), percentile(beside, 50), percentile(alone, 50), { atMost: 1.2 }),
      ratioRow(name("p95"), percentile(beside, 95), percentile(alone, 95), { atMost: 1.2 }),
      {
        name: "threads that say which budget they reached",
        ours: saying.length,
        baseline: undefined,
        isMet: saying.length === greedy.length,
        bar: "3",
      },
    ];
  });
}
