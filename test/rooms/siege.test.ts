/** Rooms in each protocol, whatever is killed meanwhile. */
import { afterEach, expect, test } from "vitest";
import { seededRandom } from "../../shared/random.ts";
import { SIEGE_ENV } from "../support/agent-siege.ts";
import { inFull } from "../support/faults.ts";
import { besiegeRooms } from "../support/room-siege.ts";
import { type SpawnedSidecar, spawnSidecar } from "../support/sidecar.ts";

let sidecar: SpawnedSidecar | undefined;
afterEach(() => sidecar?.close());

test(
  "one member has the turn at a time, and each text is in each other member's context once, in one order",
  async () => {
    sidecar = await spawnSidecar({ ...SIEGE_ENV, MAX_AGENTS: "8" });
    const rooms = inFull(12, 2); // of each protocol; a sidecar takes 50 in all
    const report = await besiegeRooms({
      sidecar,
      rooms,
      texts: inFull(4, 2),
      pauseMs: 3_000,
      random: seededRandom(7),
    });
    console.log(JSON.stringify({ ...report, faults: report.faults.length }));
    expect(report.faults).toEqual([]);
    // A call that finds no sidecar says nothing: the stand-in does not make it again.
    expect(report.texts).toBeGreaterThan(rooms * 4);
  },
  inFull(1_800_000, 180_000),
);
