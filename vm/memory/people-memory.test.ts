import { appendFileSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createLog } from "../../shared/log.ts";
import { USER_OWNER } from "../../shared/memory/owner.ts";
import { OWNER, printPrincipal } from "../../shared/principal.ts";
import { makeFolder } from "../../test/support/folders.ts";
import { openStore } from "../store/store.ts";
import { PeopleMemory } from "./people-memory.ts";
import { MemoryWriter } from "./writer.ts";

test("a write that was let in long after it was asked for is its writer's; one by hand right after it is not", async () => {
  const made = makeFolder();
  onTestFinished(made.remove);
  const stateDir = realpathSync(made.path);
  const { memoryWrites: writes } = openStore(":memory:");
  let now = Date.now() - 3_600_000;
  const parts = { stateDir, writes, log: createLog("vm", "silent"), now: () => now };
  const memoryWriter = new MemoryWriter({ ...parts, onChange: () => {} });
  const people = new PeopleMemory({ stateDir, reposDir: stateDir, writes, memoryWriter });
  const write = (writeId: string, name: string, waits: boolean) =>
    memoryWriter.write({
      ...{ writeId, owner: USER_OWNER, name, how: "append", text: "x", by: OWNER, waits },
    });
  write("1", "late.md", true);
  writes.decide("1", true, null);
  memoryWriter.finishAll();
  now = Date.now();
  write("2", "touched.md", false);
  appendFileSync(join(stateDir, "memory/user/touched.md"), "by hand\n");
  const [memory] = await people.list(undefined);
  expect(memory?.files.map(({ path, by }) => [path, by])).toEqual([
    ["user/late.md", printPrincipal(OWNER)],
    ["user/touched.md", null],
  ]);
});
