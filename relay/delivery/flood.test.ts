import fc from "fast-check";
import { expect, test } from "vitest";
import { World } from "./testing/world.ts";

/** So often the relay reads, and so long a request to Discord takes. */
const TICK_MS = 100;

/** Only two messages are left, and the last row begins a page of its own. */
const CROWDED = {
  prelude: [
    { rows: 120, ms: 0 },
    { rows: 154, ms: 0 },
  ],
  first: 488,
  pauseMs: 601,
  kilobytes: 127,
  ms: 100,
};

/** The relay reads and delivers for so long. */
async function pass(world: World, ms: number, print: () => void = () => undefined): Promise<void> {
  for (const end = world.now + ms; world.now < end; world.now += TICK_MS) {
    print();
    if (world.content.offset < world.log.length) await world.read(512 * 1024);
    world.pacedStep();
  }
}

/** A flood of so many kilobytes, printed in `ms`. @returns how long its last row took, and the messages before that. */
async function flood(world: World, kilobytes: number, ms: number): Promise<{ ms: number; used: number }> {
  const before = world.messages.size;
  const rows = Math.ceil((kilobytes * 1024) / 11);
  await pass(world, ms, () => world.print(Math.ceil((rows * TICK_MS) / ms)));
  const endedAt = world.now;
  const last = `\nrow ${world.lines}\n`;
  const find = () => world.texts().findIndex((text) => text.startsWith("```") && text.includes(last));
  while (find() < 0) await pass(world, TICK_MS);
  return { ms: world.now - endedAt, used: find() - before };
}

test("the end of a flood is shown within 5 s and 7 messages, whatever came just before", async () => {
  const prelude = fc.array(fc.record({ rows: fc.integer({ min: 1, max: 160 }), ms: fc.nat(1_500) }), {
    maxLength: 3,
  });
  const size = fc.record({
    prelude,
    first: fc.integer({ min: 1, max: 500 }),
    pauseMs: fc.nat(700),
    kilobytes: fc.integer({ min: 120, max: 4_000 }),
    ms: fc.integer({ min: 1, max: 40 }).map((ticks) => ticks * TICK_MS),
  });
  await fc.assert(
    fc.asyncProperty(size, async ({ prelude, first, pauseMs, kilobytes, ms }) => {
      const world = new World();
      for (const { rows, ms } of prelude) {
        world.print(rows);
        await pass(world, ms);
      }
      // Its beginning comes by itself, as when the machine is busy.
      world.print(first);
      await pass(world, pauseMs);
      const end = await flood(world, kilobytes, ms);
      expect(end.used).toBeLessThanOrEqual(7);
      expect(end.ms).toBeLessThanOrEqual(5_000);
    }),
    { numRuns: 100, interruptAfterTimeLimit: 20_000, examples: [[CROWDED]] },
  );
});

test("two floods in a row: the end of each is shown within 5 s", async () => {
  for (const pauseMs of [0, 500, 1_000, 2_000, 4_000]) {
    const world = new World();
    world.print(10);
    await pass(world, 10_000);
    const first = await flood(world, 1_000, 300);
    await pass(world, pauseMs);
    const second = await flood(world, 1_000, 300);
    expect([pauseMs, first.ms <= 5_000, second.ms <= 5_000]).toEqual([pauseMs, true, true]);
  }
});
