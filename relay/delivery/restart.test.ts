import fc from "fast-check";
import { expect, test } from "vitest";
import { joinPages } from "../content/pages.ts";
import type { PageAction } from "./plan.ts";
import { World } from "./testing/world.ts";

const event = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant("print" as const), n: fc.oneof(fc.nat(40), fc.nat(4_000)) }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant("read" as const), n: fc.constantFrom(500, 20_000, 1_000_000) }),
  },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant("step" as const), n: fc.nat(6) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("save" as const), n: fc.constant(0) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("break" as const), n: fc.constant(0) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("kill" as const), n: fc.constant(0) }) },
);

test("whatever is printed, typed and killed, each row is shown once, or counted in a gap at its place", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(event, { maxLength: 40, size: "max" }), async (events) => {
      const world = new World();
      for (const { kind, n } of events) {
        world.now += 100;
        if (kind === "print") world.print(n);
        else if (kind === "read") await world.read(n);
        else if (kind === "save") world.save();
        else if (kind === "break") world.content.breakPage();
        else if (kind === "kill") world.kill();
        else {
          const isHeld = (action: PageAction) => action.kind === "send" && action.page.notBefore > world.now;
          for (let i = 0; i < n; i++) world.step(n, isHeld);
        }
      }
      while (world.content.offset < world.log.length) await world.read(1_000_000);
      world.now += 10_000;
      for (let i = 0; world.step(5, () => false); i++) if (i > 1_000) throw new Error("it does not end");
      let next = 1;
      for (const text of world.texts()) {
        if (text.startsWith("… ")) {
          next += Number(/[\d,]+/.exec(text)?.[0].replaceAll(",", ""));
          continue;
        }
        for (const row of joinPages([text]).split("\n")) {
          if (row === "") continue;
          expect(row).toBe(`row ${next++}`);
        }
      }
      expect(next - 1).toBe(world.lines);
    }),
    { numRuns: 300, interruptAfterTimeLimit: 20_000 },
  );
});
