/** Threads that run into each limit, with kills: none goes beyond it by more than the call that reached it. */
import { expect, test } from "vitest";
import { LIMIT_NAMES } from "../../shared/agent/limit-schema.ts";
import { seededRandom } from "../../shared/random.ts";
import { inFull } from "../support/faults.ts";
import { besiege } from "../support/limit-siege.ts";

/** Threads of each limit, all at once. */
const THREADS = inFull(25, 1);
const KILLS = inFull(3, 2);

// Promise: R17
test("killed again and again, no thread goes beyond a limit by more than one call", {
  timeout: inFull(900_000, 150_000),
}, async () => {
  let done = 0;
  const sieges = LIMIT_NAMES.flatMap((name) =>
    Array.from({ length: THREADS }, async (_, i) => {
      const report = await besiege(name, seededRandom(100 + i), KILLS);
      done++;
      if (done % 10 === 0) console.log(`${done} of ${LIMIT_NAMES.length * THREADS} threads are done`);
      return { name, ...report };
    }),
  );
  const reports = await Promise.all(sieges);
  for (const { name, asks, over, ran } of reports) {
    expect(asks, name).toBeGreaterThan(0);
    expect(over, `${name} beyond what was allowed, in calls`).toBeLessThanOrEqual(name === "seconds" ? 2 : 1);
    // A call that a kill cut off is not run again by itself.
    expect(
      ran.split("").filter((effect, at, all) => all.indexOf(effect) !== at),
      ran,
    ).toEqual([]);
  }
  const kills = reports.reduce((sum, report) => sum + report.kills, 0);
  expect(kills).toBeGreaterThan(0);
  console.log(JSON.stringify(LIMIT_NAMES.map((name) => summary(name, reports))));
});

function summary(
  name: string,
  reports: readonly { name: string; asks: number; kills: number; over: number }[],
) {
  const own = reports.filter((report) => report.name === name);
  const sum = (of: (report: (typeof own)[number]) => number) =>
    own.reduce((total, one) => total + of(one), 0);
  const over = Math.max(...own.map((report) => report.over));
  return { name, threads: own.length, asks: sum(({ asks }) => asks), kills: sum(({ kills }) => kills), over };
}
