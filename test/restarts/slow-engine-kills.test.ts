/**
 * Threads of a real sidecar whose engines are slow to come back, under kill -9: whatever a model is asked, it has been
 * told each message once. `npm run test:siege test/restarts/slow-engine-kills.test.ts` kills 500 times in ten groups.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { seededRandom } from "../../shared/random.ts";
import { SIEGE_ENV, Siege, type SiegeReport } from "../support/agent-siege.ts";
import { findFaults } from "../support/agent-truth.ts";
import { STAND_IN, script } from "../support/agents.ts";
import { inFull } from "../support/faults.ts";
import { makeFolder } from "../support/folders.ts";
import { type SpawnedSidecar, spawnSidecar } from "../support/sidecar.ts";

const THREADS = inFull(["a", "b", "c", "d"], ["a", "b"]);
const KILLS = inFull(50, 10);
const VICTIMS = ["runner", "engine", "both", "runner", "engine", "both", "both", "sidecar"] as const;

const GROUPS: [string, number][] = [1, 2].flatMap((seed) =>
  ["0", "3", "8", "30", "0, 3, 8 or 30"].map((seconds): [string, number] => [seconds, seed]),
);

let spawned: SpawnedSidecar | undefined;
afterEach(() => spawned?.close());

/** The stand-in, which opens so late whenever it resumes a conversation, one of these times by chance. */
function slowProgram(folder: string, openMs: readonly number[]): { program: string; requests: string } {
  const [program, requests] = [join(folder, "slow.sh"), join(folder, "requests")];
  const exports = `export THREADMUX_DEMO_OPEN_MS=${openMs.join(",")} THREADMUX_DEMO_REQUESTS='${requests}'`;
  writeFileSync(program, `#!/bin/sh\n${exports}\nexec '${STAND_IN}' "$@"\n`, { mode: 0o755 });
  return { program, requests };
}

/** What the models were told in each request, in order; a line that a kill cut off is left out. */
function readRequests(path: string): string[] {
  return readFileSync(path, "utf8")
    .split("\n")
    .filter((line) => line.startsWith("[") && line.endsWith("]"));
}

/** Of a thread's last request, and of each one before it: the messages that are not in it once, or more than once. */
function requestFaults(requests: readonly string[], threadId: string, { messages }: SiegeReport): string[] {
  const names = messages.get(threadId) ?? [];
  const times = (request: string, name: string) => request.split(`please ${name}.`).length - 1;
  const last = requests.findLast((request) => times(request, `end of ${threadId}`) > 0);
  if (last === undefined) return [`${threadId}: the model was not asked at the end`];
  const missed = names
    .filter((name) => times(last, name) !== 1)
    .map((name) => `${name} ${times(last, name)} ×`);
  const doubled = names.filter((name) => requests.some((request) => times(request, name) > 1));
  return [...missed, ...doubled.map((name) => `${name} twice in a request`)];
}

test.each(inFull(GROUPS, [["0 or 3", 1]]))(
  "engines that open after %s s: each message is in the model's requests once, and in the transcript once (%i)",
  { timeout: inFull(600_000, 150_000) },
  async (seconds, seed) => {
    const { path, remove } = makeFolder();
    const openMs = (seconds.match(/\d+/g) ?? []).map((one) => Number(one) * 1_000);
    const { program, requests } = slowProgram(path, openMs);
    const sidecar = await spawnSidecar({ ...SIEGE_ENV, AGENT_PROGRAM: program, AGENT_IDLE_SECONDS: "3" });
    spawned = sidecar;
    const report = await new Siege({
      sidecar,
      threadIds: THREADS,
      victims: VICTIMS,
      kills: KILLS,
      random: seededRandom(40 + seed),
      lastWords: (threadId) => script(`please end of ${threadId}.`, { text: "done" }),
      openMs: Math.max(...openMs),
    }).run();
    expect(Object.values(report.kills).reduce((sum, count) => sum + count, 0)).toBe(KILLS);
    expect(THREADS.flatMap((threadId) => findFaults(sidecar, threadId, report))).toEqual([]);
    const asked = readRequests(requests);
    expect(THREADS.flatMap((threadId) => requestFaults(asked, threadId, report))).toEqual([]);
    expect(report.twins).toEqual([]);
    remove();
  },
);
