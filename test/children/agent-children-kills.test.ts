/** Children under kill -9 of sidecar, runners and engines: each is spawned once, and each result is told once. */
import { afterEach, expect, test } from "vitest";
import { seededRandom } from "../../shared/random.ts";
import { SIEGE_ENV } from "../support/agent-siege.ts";
import { besiegeChildren } from "../support/children-siege.ts";
import { inFull } from "../support/faults.ts";
import { type SpawnedSidecar, spawnSidecar } from "../support/sidecar.ts";

let sidecar: SpawnedSidecar | undefined;
afterEach(() => sidecar?.close());

// Promise: R15
test(
  "children are spawned once each and their results stay the same, whatever is killed",
  async () => {
    sidecar = await spawnSidecar({ ...SIEGE_ENV, MAX_AGENTS: "5", ALLOW_BYPASS: "1" });
    const report = await besiegeChildren({
      sidecar,
      children: inFull(50, 6),
      kills: inFull(60, 4),
      workSeconds: inFull(1.5, 0.3),
      pauseMs: 150,
      random: seededRandom(5),
    });
    console.log(JSON.stringify(report.kills));
    expect(report.faults).toEqual([]);
    expect(Object.values(report.kills).reduce((sum, count) => sum + count, 0)).toBeGreaterThan(0);
  },
  inFull(400_000, 120_000),
);
