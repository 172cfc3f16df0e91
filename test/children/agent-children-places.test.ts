/** More parents than places, each awaiting a child: all come to their end, and no place is held by one that waits. */
import { createHash } from "node:crypto";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { foldEvents } from "../../shared/agent/fold.ts";
import { waitOf } from "../../shared/agent/waits.ts";
import { folderOf } from "../support/agent-siege.ts";
import { eventsIn } from "../support/agent-truth.ts";
import { openAgent, STAND_IN_CONFIG, script, transcriptOf, untilStatus, wordsOf } from "../support/agents.ts";
import { inFull, isFull } from "../support/faults.ts";
import { familyOf, idealWaitMs, waitedMs } from "../support/place-times.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";

const PLACES = inFull(5, 2);
const PARENTS = Array.from({ length: inFull(20, 4) }, (_, i) => `parent-${i}`);
/**
 * So long a thread that waits, or claims a place, may take to see that it does, on a machine that stands still meanwhile.
 * Who kept its place would do so for ever, since its child would get none.
 */
const GIVE_BACK_MS = 20_000;

let sidecar: TestSidecar | undefined;
afterEach(() => sidecar?.close());

const idOf = (threadId: string) => createHash("sha256").update(threadId).digest("hex").slice(0, 16);

/** Who has a place, by the names of their files; the first that asks for one makes their folder. */
function holders(stateDir: string): string[] {
  const folder = join(stateDir, "places");
  if (!existsSync(folder)) return [];
  return readdirSync(folder).flatMap((name) => (name.startsWith("held.") ? [name.split(".")[4] ?? ""] : []));
}

test(
  "nobody starves, no waiter has a place, and never more have one than there are",
  async () => {
    const small = await startSidecar({ ...STAND_IN_CONFIG, maxAgents: PLACES });
    sidecar = small;
    const prompt = script("Part", { text: "Done.", delayMs: 400 });
    const part = { name: "mcp__threadmux__spawn_thread", input: { prompt } };
    const whole = script("Split it", { tools: [part], delayMs: 200 }, { text: "All done.", delayMs: 200 });
    const since = new Map<string, number>();
    const stuck = new Set<string>();
    const note = (what: string, isWrong: boolean) => {
      const began = since.get(what) ?? Date.now();
      if (!isWrong) since.delete(what);
      else if (Date.now() - began > GIVE_BACK_MS) stuck.add(what);
      else since.set(what, began);
    };
    const look = () => {
      const held = holders(small.stateDir);
      // One that claims a place which it then does not get has a file for a moment.
      note("too many", new Set(held).size > PLACES);
      for (const parent of PARENTS) note(parent, held.includes(idOf(parent)) && isWaiting(small, parent));
    };
    for (const parent of PARENTS) await openAgent(small, parent, whole);
    const watch = setInterval(look, 100);
    try {
      await Promise.all(PARENTS.map((parent) => untilStatus(small, parent, "idle", inFull(240_000, 60_000))));
    } finally {
      clearInterval(watch);
    }
    expect([...stuck]).toEqual([]);
    for (const parent of PARENTS) expect(await wordsOf(small, parent)).toEqual(["All done."]);
    if (isFull) console.log(JSON.stringify(await waits(small)));
  },
  inFull(300_000, 120_000),
);

function isWaiting({ stateDir }: TestSidecar, threadId: string): boolean {
  try {
    return waitOf(foldEvents(eventsIn(folderOf({ stateDir }, threadId))), Date.now()) === "child";
  } catch {
    return false; // its transcript is not there yet, or ends in half a line
  }
}

/** Beside what they would be if a place changed hands in no time. */
async function waits(small: TestSidecar) {
  const threads = await small.client.listThreads({});
  const families = await Promise.all(
    PARENTS.map(async (parent) => {
      const child = threads.find(({ parentId }) => parentId === parent)?.threadId ?? "";
      return familyOf(parent, await transcriptOf(small, parent), await transcriptOf(small, child));
    }),
  );
  const whole = families.flatMap((family) => family ?? []);
  const idealMs = idealWaitMs(whole, PLACES);
  const totalMs = whole.reduce((sum, family) => sum + waitedMs(family), 0);
  const each = whole.map(waitedMs).sort((a, b) => a - b);
  return {
    families: whole.length,
    totalMs,
    idealMs,
    ratio: totalMs / idealMs,
    least: each[0],
    most: each.at(-1),
  };
}
