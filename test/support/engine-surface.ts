/**
 * The promises of an agent thread, as tests that run with every engine. An engine that declares a row's
 * ability passes the row's tests; of one that does not, a request for it is refused by name.
 */
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import type { EngineDeclaration } from "../../shared/agent/engines/declaration.ts";
import { ENGINES } from "../../shared/agent/engines/engines.ts";
import { CHANNEL_ROWS } from "./engine-channel.ts";
import { ROWS as API_ROWS } from "./engine-rows.ts";
import type { EngineUnderTest } from "./engine-under-test.ts";
import { EngineWorld } from "./engine-world.ts";
import { refusal } from "./threads.ts";

const ROWS = { ...API_ROWS, ...CHANNEL_ROWS };

/** The tests of the surface for one engine; their results are the engine's column in the table of the documents. */
export function testSurface(make: () => Promise<EngineUnderTest>, name: EngineUnderTest["name"]): void {
  vi.setConfig({ testTimeout: 90_000 });
  const { capabilities }: EngineDeclaration = ENGINES[name];
  const passed = new Map<string, number>();
  let world: EngineWorld;
  beforeAll(async () => {
    world = await EngineWorld.start(await make());
  });
  afterAll(async () => {
    await world?.close();
    await world?.engine.close();
  });
  const check = (row: string, sentence: string, run: () => Promise<void>) =>
    test(sentence, async () => {
      await run();
      passed.set(row, (passed.get(row) ?? 0) + 1);
    });

  for (const [row, { label, isDeclared, tests, refused }] of Object.entries(ROWS)) {
    describe(label, () => {
      if (isDeclared(capabilities))
        for (const [sentence, run] of Object.entries(tests)) check(row, sentence, () => run(world));
      else
        check(row, "it is not declared, and refused by name", async () => {
          if (!refused) return;
          const asked = world.open(`no-${row}`, "go", [], { agent: refused.agent });
          const refusedWith = await refusal(asked);
          expect(refusedWith).toMatchObject({ code: "unsupported" });
          expect(refusedWith.message).toContain(refused.field);
        });
    });
  }

  test("these results are recorded; `npx vitest run test/engines --update` does it", async () => {
    const column = Object.entries(ROWS).map(([row, { label, isDeclared, tests }]) => {
      const isThere = isDeclared(capabilities);
      const wanted = isThere ? Object.keys(tests).length : 1;
      const isPassed = passed.get(row) === wanted;
      return [label, isPassed ? (isThere ? "yes" : "no") : "fails"];
    });
    const text = `${JSON.stringify(Object.fromEntries(column), null, 2)}\n`;
    await expect(text).toMatchFileSnapshot(`../engines/results/${name}.json`);
  });
}
