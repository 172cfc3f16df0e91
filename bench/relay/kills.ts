/** Ten threads, in which a person writes, while the relay is killed again and again, or Discord fails. */
import { setTimeout as sleep } from "node:timers/promises";
import { type Fault, randomFaults } from "../../local-discord/faults.ts";
import { seededRandom } from "../../shared/random.ts";
import { typedLines } from "../../test/support/streaming.ts";
import { atMost, equality, type Figure, told } from "./figures.ts";
import { type Load, printer, type Row, withLoad } from "./load.ts";

/** A person writes a line here and there; returns what each thread was told, once they stop. */
function startTyping({ discord, threadIds }: Load, seed: number): () => Promise<string[][]> {
  const random = seededRandom(seed + 1);
  const stop = new AbortController();
  const typed: string[][] = threadIds.map(() => []);
  const typing = (async () => {
    for (let count = 1; !stop.signal.aborted; count++) {
      const i = Math.floor(random() * threadIds.length);
      typed[i]?.push(`typed ${count}`);
      discord.driver.post(discord.you.id, threadIds[i] ?? "", `typed ${count}`);
      await sleep(200 + random() * 800);
    }
  })();
  return async () => {
    stop.abort();
    await typing;
    return typed;
  };
}

async function verdict(row: string, load: Load, typed: string[][]): Promise<Figure[]> {
  const { different } = await load.finish(120_000);
  const isTyped = (lines: string[], i: number) =>
    JSON.stringify(typedLines(load, String(i))) === JSON.stringify(lines);
  const wrong = typed.filter((lines, i) => !isTyped(lines, i)).length;
  const { stats } = load.discord.driver;
  return [
    equality(row, different),
    atMost(row, "threads where typed lines differ", wrong, 0),
    atMost(row, "most requests in a second", stats.maxPerSecond(), 45),
    told(row, "429 answers", stats.rateLimited),
  ];
}

export const kills: Row = async ({ pick, seed }) => {
  const count = pick(200, 2);
  const row = `${count} × kill -9`;
  return withLoad(
    Array.from({ length: 10 }, (_, i) => printer(i)),
    async (load) => {
      const random = seededRandom(seed);
      const stopTyping = startTyping(load, seed);
      for (let kill = 0; kill < count; kill++) {
        if (random() < 0.7) await load.relay.untilReady();
        await sleep(random() * 2_000);
        await load.relay.kill9();
        load.relay.start();
      }
      return verdict(row, load, await stopTyping());
    },
  );
};

const FAULTS: Fault[] = [
  { kind: "status", status: 503 },
  { kind: "status", status: 502, isHtml: true },
  { kind: "stall", isApplied: false },
  { kind: "stall", isApplied: true },
  { kind: "stall-body" },
  { kind: "drop", how: "rst", isApplied: true },
  { kind: "drop", how: "fin", isApplied: true },
];

export const faults: Row = async ({ seed }) => {
  const row = "5 % faults, gateway drops";
  return withLoad(
    Array.from({ length: 10 }, (_, i) => printer(i)),
    async (load) => {
      const { driver } = load.discord;
      const stopTyping = startTyping(load, seed);
      driver.faults.rest = randomFaults({ seed: seed, probability: 0.05, faults: FAULTS });
      for (let i = 0; i < 12; i++) {
        if (i % 3 === 2) driver.gateway.closeAll(1000);
        else driver.gateway.dropAll();
        await sleep(10_000);
      }
      driver.faults.rest = undefined;
      return verdict(row, load, await stopTyping());
    },
  );
};
