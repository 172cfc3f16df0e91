/** The sidecar under kill -9 and a hung tmux: whatever happens, no byte and no thread is lost. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { inFull } from "../support/faults.ts";
import { awakeMs } from "../support/measure.ts";
import { findProcessesOf } from "../support/processes.ts";
import { type SpawnedSidecar, spawnSidecar, startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { openTerminal, readAll, refusal, untilOutput } from "../support/threads.ts";
import { until } from "../support/wait.ts";

let sidecar: SpawnedSidecar | TestSidecar | undefined;
afterEach(() => sidecar?.close());

const KILLS = inFull(200, 6);
const THREADS = 4;
const COUNT = `n=0; while :; do echo "line $n"; n=$((n+1)); sleep 0.02; done`;

/** The numbers that a counting thread has printed: they must be 0, 1, 2, … without a gap. */
function numbersIn(output: string): number[] {
  return [...output.matchAll(/^line (\d+)\r$/gm)].map(([, n]) => Number(n));
}

// Promise: R2
test(
  `kill -9 of the sidecar ${KILLS} times over running threads, creations and inputs`,
  async () => {
    const spawned = await spawnSidecar({ MAX_THREADS: "500" });
    sidecar = spawned;
    const { client } = spawned;
    const ids = Array.from({ length: THREADS }, (_, i) => `count-${i}`);
    for (const id of ids) await openTerminal(client, id, COUNT);
    await openTerminal(client, "typed", "cat > /dev/null");
    const sent: string[] = [];
    const made: string[] = [];
    for (let kill = 0; kill < KILLS; kill++) {
      // Something is always under way when the blow falls, at another moment each time.
      const creation = openTerminal(client, `new-${kill}`, "cat").then(() => made.push(`new-${kill}`));
      const input = client.sendInput("typed", { text: `typed ${kill}`, inputId: `m${kill}` });
      const settled = Promise.allSettled([creation, input]);
      await Promise.race([settled, client.readOutput("count-0", { since: 0, limit: 1 + kill * 7 })]).catch(
        () => undefined,
      );
      await spawned.kill9();
      await settled;
      await spawned.start();
      // What was not answered is asked for again, as the relay does: it goes in once.
      await client.sendInput("typed", { text: `typed ${kill}`, inputId: `m${kill}` });
      sent.push(`typed ${kill}`);
      const open = (await client.listThreads()).map(({ threadId }) => threadId);
      expect(open).toEqual(expect.arrayContaining([...ids, "typed", ...made]));
      for (const id of open.filter((id) => id.startsWith("new-"))) await client.killThread(id);
      made.length = 0;
    }
    for (const id of ids) {
      const numbers = numbersIn((await readAll(client, id)).output);
      expect(numbers.length).toBeGreaterThan(KILLS);
      expect(numbers.every((n, i) => n === i)).toBe(true);
    }
    // The terminal's echo is what went in.
    const typed = await untilOutput(client, "typed", `typed ${KILLS - 1}`);
    expect(typed.split("\r\n").filter((line) => line !== "")).toEqual(sent);
    // No orphan, no half-made thread: tmux has exactly the open threads, and no other process of ours is left.
    const open = (await client.listThreads()).map(({ threadId }) => `thread-${threadId}`).sort();
    const sessions = (await spawned.folders.tmux("list-sessions", "-F", "#{session_name}"))
      .trim()
      .split("\n");
    expect(sessions.filter((name) => name !== "_ctl").sort()).toEqual(open);
    await until("the killed sidecars' clients to be gone", async () => {
      const clients = await spawned.folders.tmux("list-clients", "-F", "#{client_pid}");
      return clients.trim().split("\n").length === 1;
    });
    for (const id of [...ids, "typed"]) await client.killThread(id);
    await until("no process of a thread to be left", () =>
      findProcessesOf(spawned.folders.path).every(({ command }) => !/wrap\.sh|cat >>/.test(command)),
    );
  },
  inFull(900_000, 300_000),
);

test("a hung tmux server: 503 within 3 s, back when it goes on, and nothing is typed twice", async () => {
  const started = await startSidecar();
  sidecar = started;
  const { client, folders } = started;
  await openTerminal(client, "hung", "cat > /dev/null"); // its echo is what went in
  const pid = folders.tmuxPid();
  process.kill(pid, "SIGSTOP");
  try {
    const ms = await awakeMs(async () => {
      const refused = await refusal(client.sendInput("hung", { text: "one", inputId: "1" }));
      expect(refused).toMatchObject({ code: "unavailable" });
      expect(refused.message).toMatch(/tmux does not answer|tmux has not answered/);
    });
    expect(ms).toBeLessThan(3_500);
    expect(await refusal(openTerminal(client, "other", "cat"))).toMatchObject({ code: "unavailable" });
    expect(await client.getHealth()).toMatchObject({ ok: false, tmux: { up: false } });
    // What needs no tmux goes on.
    expect((await client.readOutput("hung")).processRunning).toBe(true);
  } finally {
    process.kill(pid, "SIGCONT");
  }
  await until("tmux to answer", async () => (await client.getHealth()).tmux.up);
  // Whether the first try went in is not known to its caller; asking again is safe.
  await client.sendInput("hung", { text: "one", inputId: "1" });
  await client.sendInput("hung", { text: "two", inputId: "2" });
  expect(await untilOutput(client, "hung", "two\r\n")).toBe("one\r\ntwo\r\n");
  const names = readdirSync(join(started.stateDir, "logs"));
  expect(names).toEqual(["hung.log"]);
});
