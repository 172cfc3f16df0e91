/** Rooms in each protocol, whatever is killed meanwhile. */
import { afterEach, expect, test } from "vitest";
import { seededRandom } from "../../shared/random.ts";
import { SIEGE_ENV } from "../support/agent-siege.ts";
import { inFull } from "../support/faults.ts";
import { besiegeRooms } from "../support/room-siege.ts";
import { type SpawnedSidecar, spawnSidecar } from "../support/sidecar.ts";

let sidecar: SpawnedSidecar | undefined;
afterEach(() => sidecar?.close());

/** Each piece has so many rooms of each protocol, and a sidecar of its own. The long form has 100 of each in all. */
const ROOMS = inFull(4, 2);
const PIECES = Number(process.env["PIECES"] ?? inFull(25, 1));
const SEED = Number(process.env["SEED"] ?? 7);
const seeds = Array.from({ length: PIECES }, (_, piece) => SEED + piece);

test.each(seeds)(
  "one member has the turn at a time, and each text is in each other member's context once, in one order (seed %i)",
  async (seed) => {
    sidecar = await spawnSidecar({ ...SIEGE_ENV, MAX_AGENTS: "8" });
    const report = await besiegeRooms({
      sidecar,
      rooms: ROOMS,
      texts: inFull(4, 2),
      pauseMs: 3_000,
      random: seededRandom(seed),
    });
    console.log(JSON.stringify({ seed, ...report, faults: report.faults.length }));
    expect(report.faults).toEqual([]);
    // A call that finds no sidecar says nothing: the stand-in does not make it again.
    expect(report.texts).toBeGreaterThan(ROOMS * 4);
  },
  inFull(550_000, 180_000),
);
