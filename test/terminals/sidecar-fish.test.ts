/** What is typed into fish, whose line editor draws a long text again and again. */
import { spawnSync } from "node:child_process";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { openTerminal, refusal, untilOutput } from "../support/threads.ts";

const TAKES = 60_000;

let sidecar: TestSidecar;
let count = 0;
beforeAll(async () => {
  sidecar = await startSidecar({ maxThreads: 100 });
});
afterAll(() => sidecar.close());

const isThere = spawnSync("fish", ["--version"]).status === 0;

async function openFish() {
  const threadId = `fish-${++count}`;
  const prompt = "function fish_prompt; echo -n 'ready> '; end";
  await openTerminal(sidecar.client, threadId, `export HOME=$PWD; fish -C "${prompt}"; :`);
  await untilOutput(sidecar.client, threadId, "ready> ");
  return threadId;
}

/** Quoted, in lines of 50 characters. */
const quoted = (lines: number) => `'${`${"y".repeat(49)}\n`.repeat(lines)}'`;

describe.skipIf(!isThere)("fish", () => {
  test.each([true, false, "auto"] as const)("takes one line of 100 kB (paste: %s)", async (paste) => {
    const fish = await openFish();
    await sidecar.client.sendInput(fish, { text: `echo '${"x".repeat(100_000)}' | wc -c`, paste });
    await untilOutput(sidecar.client, fish, "100001\r\n", TAKES);
  });

  test("takes 10 kB of quotes in one line, which as keys it would draw a thousand times", async () => {
    const fish = await openFish();
    await sidecar.client.sendInput(fish, { text: `echo '${'a"b '.repeat(2_500)}' | wc -c` });
    const seen = await untilOutput(sidecar.client, fish, "10001\r\n", TAKES);
    expect(seen.length).toBeLessThan(100_000); // 450,000 as keys
  });

  test("takes a text of 200 lines; of 2,000, which take it a minute, a person is asked first", async () => {
    const fish = await openFish();
    const { client } = sidecar;
    for (const paste of ["auto", true] as const) {
      const refused = await refusal(client.sendInput(fish, { text: `echo ${quoted(2_000)} | wc -l`, paste }));
      expect(refused).toEqual({
        code: "would_complete",
        message: expect.stringMatching(
          /^text: has 2,001 lines and 100,\d+ characters, which fish .*paste: false/,
        ),
      });
    }
    await client.sendInput(fish, { text: `echo ${quoted(200)} | wc -l` });
    await untilOutput(client, fish, "201\r\n", TAKES);
  });

  // It drops them, also in the frame of a paste, and knows no key that makes the next one text.
  test.each(["ready> ", "secret> "])("a person is asked before a tab is typed at %j", async (prompt) => {
    const fish = await openFish();
    const { client } = sidecar;
    if (prompt !== "ready> ") {
      await client.sendInput(fish, { text: "read -s -P 'secret> ' x; string escape -- \"<$x>\"" });
      await untilOutput(client, fish, `\r${prompt}`);
    }
    const refused = { code: "would_complete", message: expect.stringContaining("tabs, which fish may take") };
    expect(await refusal(client.sendInput(fish, { text: "a\tb", paste: true }))).toEqual(refused);
    expect(await refusal(client.sendInput(fish, { text: "a\n\tb" }))).toEqual(refused);
    await client.sendInput(fish, { text: "echo a\tb; echo $((40+2))", paste: false });
    if (prompt !== "ready> ") await untilOutput(client, fish, "<echo ab; ");
  });
});
