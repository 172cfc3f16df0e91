/** `GET /events` while its readers come and go and the sidecar is killed: each event once, and in order. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { seededRandom } from "../../shared/random.ts";
import { SIEGE_ENV } from "../support/agent-siege.ts";
import { openAgent, script, transcriptOf, untilStatus } from "../support/agents.ts";
import { byClient, byHand, EventReader } from "../support/event-readers.ts";
import { inFull, isFull } from "../support/faults.ts";
import { type SpawnedSidecar, spawnSidecar } from "../support/sidecar.ts";
import { until, untilValue } from "../support/wait.ts";

let sidecar: SpawnedSidecar | undefined;
const readers: EventReader[] = [];
afterEach(async () => {
  for (const reader of readers.splice(0)) await reader.stop();
  await sidecar?.close();
});

const READERS = inFull(200, 12);
const THREADS = inFull(20, 2);
const KILLS = inFull(10, 2);
/** Between two kills, of each thread; each is some ten events. */
const ROUNDS = inFull(20, 3);

// Promise: R3
test(`${READERS} readers that come and go, ${THREADS} threads that write, ${KILLS} kills of the sidecar`, {
  timeout: inFull(900_000, 120_000),
}, async () => {
  const spawned = await spawnSidecar({ ...SIEGE_ENV, MAX_AGENTS: String(THREADS) });
  sidecar = spawned;
  const { client } = spawned;
  const random = seededRandom(7);
  for (let i = 0; i < READERS; i++)
    readers.push(new EventReader(i % 20 === 0 ? byClient(client) : byHand(spawned), random));
  for (const reader of readers) reader.start({ minMs: 50, maxMs: inFull(10_000, 1_500) });
  const ids = Array.from({ length: THREADS }, (_, i) => `t${i}`);
  const call = { name: "Bash", input: { command: "true", description: "d" } };
  const tools = [call, call, call];
  const gate = (kill: number) => join(spawned.reposDir, `go-${kill}`);
  // The first round after each kill waits until the sidecar is there again: however slow it is, they write then.
  const rounds = (kill: number) =>
    Array.from({ length: ROUNDS }, (_, i) => ({
      text: "so",
      tools,
      delayMs: inFull(200, 50),
      ...(i === 0 ? { waitFor: gate(kill) } : {}),
    }));
  const work = Array.from({ length: KILLS + 1 }, (_, kill) => rounds(kill)).flat();
  for (const id of ids) await openAgent(spawned, id, script("go", ...work, { text: "done" }));
  const begunMs = Date.now();
  let awayMs = 0;
  const counts = () => readers.map(({ events, failure }) => failure ?? events.length);
  for (let kill = 0; kill < KILLS; kill++) {
    writeFileSync(gate(kill), "");
    const wanted = Number(counts()[0]) + THREADS * 8;
    await untilValue("more events", counts, ([now]) => Number(now) > wanted, {
      timeoutMs: inFull(300_000, 60_000),
    });
    const killedMs = Date.now();
    await spawned.kill9();
    await spawned.start();
    awayMs += Date.now() - killedMs;
  }
  writeFileSync(gate(KILLS), "");
  for (const id of ids)
    await until(`${id} to end`, () => untilStatus(spawned, id, "idle"), {
      timeoutMs: inFull(600_000, 60_000),
    });
  const seconds = (Date.now() - begunMs - awayMs) / 1_000;
  const expected = await Promise.all(
    ids.map(async (id) => {
      const transcript = await transcriptOf(spawned, id);
      return [`${id} thread_created`, ...transcript.map(({ seq }) => `${id} ${seq}`)];
    }),
  );
  const count = expected.flat().length;
  if (isFull) console.log(JSON.stringify({ count, seconds, perThread: count / THREADS / seconds }));
  await until("each reader to have as many", () => readers.every(({ events }) => events.length >= count), {
    timeoutMs: inFull(300_000, 30_000),
  });
  const [first] = readers;
  for (const { events, ids: given } of readers) {
    expect(events).toEqual(first?.events);
    expect(given).toEqual(first?.ids);
  }
  for (const [index, id] of ids.entries())
    expect(first?.events.filter((name) => name.startsWith(`${id} `))).toEqual(expected[index]);
  expect(first?.ids.every((id, i, all) => i === 0 || id > (all[i - 1] ?? 0))).toBe(true);
  expect(readers.reduce((sum, { connections }) => sum + connections, 0)).toBeGreaterThan(READERS * 2);
});
