/** A database that is lost, damaged or held by another process ends no program, and is said in words. */
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Sqlite from "better-sqlite3";
import { afterEach, beforeEach, expect, test } from "vitest";
import { logs } from "../../shared/protocol/logs.ts";
import { openAgent, STAND_IN_CONFIG, script, standIn, transcriptOf } from "../support/agents.ts";
import { median } from "../support/measure.ts";
import { makeSidecarFolders, type SidecarFolders, spawnMain, startSidecar } from "../support/sidecar.ts";
import { openTerminal, readAll, refusal, untilEnded, untilOutput } from "../support/threads.ts";
import { until } from "../support/wait.ts";

let folders: SidecarFolders;

beforeEach(() => {
  folders = makeSidecarFolders();
});
afterEach(() => folders.close());

const start = (overrides: Parameters<typeof startSidecar>[0] = {}) =>
  startSidecar({ ...STAND_IN_CONFIG, agent: standIn({ idleSeconds: 1 }), ...overrides }, { folders });

const database = () => join(folders.stateDir, "threadmux.db");
const sessions = async () =>
  (await folders.tmux("list-sessions", "-F", "#{session_name}")).split("\n").sort();

function loseDatabase(): void {
  for (const name of readdirSync(folders.stateDir).filter((name) => name.startsWith("threadmux.db")))
    rmSync(join(folders.stateDir, name));
}

/** How a start that fails ends, and what it says. */
async function failedStart(args: string[] = []): Promise<{ code: number | null; said: string }> {
  const child: ChildProcess = spawnMain(folders.env, args);
  let said = "";
  child.stderr?.on("data", (chunk: Buffer) => {
    said += chunk.toString();
  });
  const [code] = (await once(child, "close")) as [number | null];
  return { code, said };
}

/** A terminal that answers, an agent, and a terminal that has ended. */
async function loseThreads(): Promise<void> {
  const { client, stop, reposDir } = await start();
  await openTerminal(client, "shell", "cd /; echo ready; while read -r x; do echo got $x; done", {
    cols: 91,
  });
  await untilOutput(client, "shell", "ready\r\n");
  await openTerminal(client, "ended", "echo over; exit 3");
  await untilEnded(client, "ended");
  const waitFor = join(reposDir, "agent", "go");
  await openAgent({ client, reposDir }, "agent", script("hello", { text: "Hello.", waitFor }));
  await until("its turn", async () =>
    (await transcriptOf({ client, reposDir }, "agent")).some(({ type }) => type === "turn_start"),
  );
  await stop();
  loseDatabase();
  writeFileSync(waitFor, ""); // its runner ends by itself, and nobody is there to take its session
}

// Promise: R5, S47
test("a lost database: nothing is ended, the start is refused and says how to go on", async () => {
  await loseThreads();
  for (let i = 0; i < 2; i++) {
    const { code, said } = await failedStart();
    expect(code).toBe(1);
    expect(said).toMatch(/3 threads run in tmux that the database does not know \((agent|shell|ended), /);
    expect(said).toContain("with --adopt to go on with them as terminals, or with --discard");
    expect(await sessions()).toEqual(
      expect.arrayContaining(["thread-agent", "thread-ended", "thread-shell"]),
    );
    expect(readFileSync(join(folders.stateDir, "logs/shell.log"), "utf8")).toBe("ready\r\n");
  }
});

test("--adopt goes on with a thread that follows logs, in its pause", async () => {
  const { client, stop, reposDir } = await start();
  writeFileSync(join(reposDir, "app.log"), "one\n");
  await client.call(logs.create, {}, { body: { threadId: "web", dir: ".", service: "app.log" } });
  await untilOutput(client, "web", "one");
  await client.call(logs.setView, { id: "web" }, { body: { paused: true } });
  await untilOutput(client, "web", "paused");
  await stop();
  loseDatabase();
  appendFileSync(join(reposDir, "app.log"), "two\n");
  const again = await start({ orphanPolicy: "adopt" });
  expect(await again.client.getThread("web")).toMatchObject({
    command: "logs file:app.log",
    follows: { service: "file:app.log", paused: true, grep: null },
  });
  await again.client.call(logs.setView, { id: "web" }, { body: { paused: false } });
  await untilOutput(again.client, "web", "two");
  await again.client.killThread("web");
  expect(existsSync(join(folders.stateDir, "runs/web.held"))).toBe(false);
  await again.stop();
});

test("--adopt goes on with them as terminals", async () => {
  await loseThreads();
  const { client, stop } = await start({ orphanPolicy: "adopt" });
  expect(await untilEnded(client, "ended")).toMatchObject({ output: "over\r\n", exitCode: 3 });
  expect(await client.getThread("shell")).toMatchObject({
    type: "terminal",
    dir: ".",
    command: "cd /; echo ready; while read -r x; do echo got $x; done",
    status: "running",
    cols: 91,
    rows: 24,
  });
  expect(await untilEnded(client, "agent")).toMatchObject({ status: "exited", exitCode: 0 });
  await client.sendInput("shell", { text: "one" });
  await untilOutput(client, "shell", "got one");
  await stop();
  const again = await start();
  await again.client.sendInput("shell", { text: "two" });
  expect(await untilOutput(again.client, "shell", "got two")).toMatch(/^ready\r\n/);
  expect(await again.client.killThread("shell")).toMatchObject({ survivors: 0 });
  await again.stop();
});

test("--discard ends them and removes their logs", async () => {
  await loseThreads();
  const { client, stop } = await start({ orphanPolicy: "discard" });
  expect((await sessions()).filter((name) => name.startsWith("thread-"))).toEqual([]);
  expect(await client.listThreads({ status: "all" })).toEqual([]);
  expect(readdirSync(join(folders.stateDir, "logs"))).toEqual([]);
  await stop();
});

test("the flags are the program's", async () => {
  expect(await failedStart(["--adopt", "--discard", "--x"])).toEqual({
    code: 2,
    said: expect.stringMatching(/unknown argument: --x .*\n.*--adopt and --discard exclude each other\n/),
  });
});

// Promise: R5, S47
test.each([
  [
    "is no database",
    () => Buffer.from("this is no database, but long enough to be taken for one\n".repeat(100)),
  ],
  ["has lost its middle", (whole: Buffer) => Buffer.from(whole).fill(0xff, 4_096, whole.length - 4_096)],
])("a file that %s is named, with what to do, and nothing is ended", async (_what, damage) => {
  await loseThreads();
  const { stop } = await start({ orphanPolicy: "adopt" });
  await stop();
  expect(existsSync(`${database()}-wal`)).toBe(false); // else the damage below would be mended from it
  writeFileSync(database(), damage(readFileSync(database())));
  const { code, said } = await failedStart();
  expect(code).toBe(1);
  expect(said).toContain(`the database ${database()} is damaged (`);
  expect(said).toContain("move it away");
  expect(await sessions()).toContain("thread-shell");
});

// Promise: R5
test("held by another process: 503 at once, nobody else waits, and all goes on afterwards", async () => {
  const { client, stop } = await start();
  await openTerminal(client, "shell", "echo ready; while read -r x; do echo got $x; done");
  await untilOutput(client, "shell", "ready\r\n");
  const held = { code: "unavailable", message: expect.stringContaining("holds the sidecar's database") };
  let sent = 0;
  const refusedAfterMs = async () => {
    const startedAt = performance.now();
    sent++;
    const sending = client.sendInput("shell", { text: `held ${sent}`, inputId: `id-${sent}` });
    expect(await refusal(sending)).toEqual(held);
    return performance.now() - startedAt;
  };
  const firsts: number[] = [];
  const later: number[] = [];
  for (let hold = 0; hold < 3; hold++) {
    const other = new Sqlite(database());
    other.exec("BEGIN EXCLUSIVE");
    try {
      firsts.push(await refusedAfterMs());
      for (let i = 0; i < 7; i++) {
        later.push(await refusedAfterMs());
        expect((await client.getHealth()).ok).toBe(true);
      }
      expect((await readAll(client, "shell")).output).not.toContain("held");
      expect(await refusal(openTerminal(client, "new", "touch ran"))).toEqual(held);
    } finally {
      other.close();
    }
    await until("inputs to go in again", () =>
      client.sendInput("shell", { text: "free", inputId: `free-${hold}` }).then(() => true),
    );
  }
  // The median, since the machine may stand still for some of them. SQLite itself would wait for 5 s.
  expect(median(firsts)).toBeLessThan(4_500);
  expect(median(later)).toBeLessThan(450); // each that waited as the first does would take 500 ms
  expect(await untilOutput(client, "shell", "got free")).not.toContain("held");
  expect(existsSync(join(folders.reposDir, "ran"))).toBe(false);
  await openTerminal(client, "new", "echo new");
  expect((await untilEnded(client, "new")).output).toBe("new\r\n");
  await stop();
});
