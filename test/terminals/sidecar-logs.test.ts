/** Logs that lose their writer, grow too large, or lie on a file system that gives nothing back. */
import {
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import type { SidecarClient } from "../../shared/client.ts";
import { inFull } from "../support/faults.ts";
import { awakeMs } from "../support/measure.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { openTerminal, readAll, refusal, untilEnded, untilOutput } from "../support/threads.ts";
import { until } from "../support/wait.ts";

let sidecar: TestSidecar | undefined;
afterEach(() => sidecar?.close());

const MIB = 1024 * 1024;
const sinkPid = (threadId: string) =>
  Number(readFileSync(join(sidecar?.stateDir ?? "", "runs", `${threadId}.sink`), "utf8"));

// Promise: R11
test("a log's writer that is killed is replaced within a second, and the gap is written into the log", async () => {
  sidecar = await startSidecar();
  const { client } = sidecar;
  const startedAt = performance.now();
  await openTerminal(client, "gap", "cat");
  await client.sendInput("gap", { text: "before" });
  await untilOutput(client, "gap", "before\r\nbefore");
  const before = sinkPid("gap");
  process.kill(before, "SIGKILL");
  // The look comes once a second; the new writer is started a moment later.
  const replaced = () => until("a new writer", () => sinkPid("gap") !== before);
  expect(await awakeMs(replaced)).toBeLessThan(3_000);
  const log = await untilOutput(client, "gap", "is missing here");
  const seconds = /\[threadmux: output of at most (\d+) s is missing here, the log's writer had ended\]/.exec(
    log,
  )?.[1];
  // Since the last look at the old one, which may be late on a machine that stood still.
  expect(Number(seconds)).toBeGreaterThan(0);
  expect(Number(seconds)).toBeLessThan(3 + (performance.now() - startedAt) / 1_000);
  await client.sendInput("gap", { text: "after" });
  await untilOutput(client, "gap", "after\r\nafter");
});

const LINES = inFull(400_000, 250_000);
const expectedLine = (n: number) => `${String(n).padStart(9, "0")}\r\n`;

/** Prints 11 bytes a line, each line its own number: any offset says what must stand there. */
async function printMuch(client: SidecarClient, threadId: string): Promise<void> {
  await openTerminal(client, threadId, `seq -f %09.0f 0 ${LINES - 1}; echo end; cat`);
  await untilOutputEnds(client, threadId);
}

async function untilOutputEnds(client: SidecarClient, threadId: string): Promise<void> {
  await until(
    "the last line",
    async () => {
      const { offset } = await client.getThread(threadId);
      const { output } = await client.readOutput(threadId, { since: Math.max(0, offset - 40) });
      return output.includes("end\r\n");
    },
    { timeoutMs: 30_000 },
  );
}

for (const [how, canPunchLogs] of [
  ["given back in place", true],
  ["written anew", false],
] as const) {
  test(`old bytes of a log that is too large are ${how}; offsets stay`, async () => {
    sidecar = await startSidecar({ logMaxBytes: 2 * MIB }, { canPunchLogs });
    const { client, stateDir } = sidecar;
    await printMuch(client, "big");
    const first = await until("old bytes to go", async () => {
      if (statSync(join(stateDir, "logs", "big.log")).blocks * 512 > 2 * MIB) return undefined;
      return (await client.readOutput("big", { limit: 1 })).firstOffset;
    });
    const row = await client.getThread("big");
    expect(row.offset).toBe(LINES * 11 + "end\r\n".length);
    expect(row.logBytes).toBeLessThanOrEqual(2 * MIB);

    // A read below the first offset says how much is gone and begins there, with a whole line.
    const reply = await client.readOutput("big", { since: 11, limit: 1024 });
    expect(reply).toMatchObject({ gone: first - 11, firstOffset: first, offset: first + 1024 });
    expect(first % 11).toBe(0);
    expect(reply.output.slice(0, 11)).toBe(expectedLine(first / 11));
    // Everything from there on is what it was, at its own offset.
    const all = await readAll(client, "big");
    const expected = Array.from({ length: LINES - first / 11 }, (_, i) => expectedLine(first / 11 + i)).join(
      "",
    );
    expect(all.output === `${expected}end\r\n`).toBe(true);

    // The program goes on into the same log, also over a restart.
    await sidecar.restart();
    await client.sendInput("big", { text: "more" });
    await until("more output", async () => {
      const { output } = await client.readOutput("big", { since: row.offset });
      return output === "more\r\nmore\r\n";
    });
  });
}

test("a log that was being written anew when the sidecar died is whole, whatever earlier deaths left behind", async () => {
  sidecar = await startSidecar();
  const { client, stateDir } = sidecar;
  await openTerminal(client, "cut", "seq 1000; cat");
  await untilOutput(client, "cut", "1000\r\n");
  const whole = (await readAll(client, "cut")).output;
  await sidecar.stop();
  const logs = join(stateDir, "logs");
  // As a crash leaves it that comes when the row is changed and the log is empty, but not yet written back.
  copyFileSync(join(logs, "cut.log"), join(logs, "cut.from.0"));
  truncateSync(join(logs, "cut.log"));
  const others = Array.from({ length: 20 }, (_, i) => `cut.from.${100 * (i + 1)}`);
  for (const name of [...others, "cut.from.0.part"]) writeFileSync(join(logs, name), "cut off");
  await sidecar.restart();
  expect((await readAll(client, "cut")).output).toBe(whole);
  expect(readdirSync(logs)).toEqual(["cut.log"]);
});

test("a directory in a log's place: the log is unavailable by name, what runs gets it back, nothing is deleted", async () => {
  sidecar = await startSidecar();
  const { client, stateDir, token, url } = sidecar;
  const logs = join(stateDir, "logs");
  await openTerminal(client, "over", "echo over");
  await untilEnded(client, "over");
  await openTerminal(client, "runs", "echo up; cat");
  await untilOutput(client, "runs", "up\r\n");
  const replace = () => {
    for (const name of ["over", "runs"]) {
      rmSync(join(logs, `${name}.log`));
      mkdirSync(join(logs, `${name}.log`));
      writeFileSync(join(logs, `${name}.log`, "kept"), "somebody's");
    }
  };
  replace();
  const expected = { code: "unavailable", message: expect.stringContaining("logs/over.log") };
  expect(await refusal(client.readOutput("over"))).toEqual(expected);
  const download = await fetch(`${url}/thread/over/log`, { headers: { authorization: `Bearer ${token}` } });
  expect([download.status, await download.text()]).toEqual([503, expect.stringContaining("logs/over.log")]);
  // Refused as long as it is not there.
  const isBack = async () => (await readAll(client, "runs")).output;
  expect(await until("the log to be back", isBack)).toMatch(/^up\r\n/);
  await sidecar.stop();
  rmSync(join(logs, "runs.log"));
  mkdirSync(join(logs, "runs.log"));
  writeFileSync(join(logs, "runs.from.0"), "as a crash leaves it\r\n");
  await sidecar.restart();
  await client.sendInput("runs", { text: "again" });
  await untilOutput(client, "runs", "again\r\nagain");
  for (const name of ["over", "runs"]) {
    await client.killThread(name);
    await client.createThread({
      threadId: name,
      type: "terminal",
      dir: ".",
      command: "echo new",
    });
    await untilOutput(client, name, "new");
    const aside = readdirSync(logs).filter((entry) => entry.startsWith(`${name}.log.`));
    expect(aside.flatMap((entry) => readdirSync(join(logs, entry)))).toEqual(["kept"]);
  }
});

const DELETED = "[threadmux: the log was deleted and has been written back;";

// Promise: R12
test("a log that is deleted is written back within seconds, also what was printed meanwhile; offsets stay", async () => {
  sidecar = await startSidecar({ logMaxBytes: 2 * MIB });
  const { client, stateDir } = sidecar;
  await printMuch(client, "gone");
  const log = join(stateDir, "logs", "gone.log");
  const first = await until(
    "old bytes to go",
    async () => (await client.getThread("gone")).logBytes <= 2 * MIB,
  )
    .then(() => client.readOutput("gone", { limit: 1 }))
    .then(({ firstOffset }) => firstOffset);
  const before = await readAll(client, "gone");
  rmSync(log);
  await client.sendInput("gone", { text: "meanwhile" });
  const after = await until("the log to be back", async () => {
    const { output } = await readAll(client, "gone"); // refused while there is none
    return output.includes(DELETED) && output.includes("meanwhile\r\nmeanwhile\r\n") && output;
  });
  expect(after.startsWith(before.output)).toBe(true);
  expect(await client.readOutput("gone", { limit: 1 })).toMatchObject({ firstOffset: first });
  expect(statSync(log).mode & 0o777).toBe(0o600);

  // It is watched and bounded again, and the new writer goes on in it.
  const { offset } = await client.getThread("gone");
  await client.sendInput("gone", { text: "later" });
  await until("more", async () =>
    (await client.readOutput("gone", { since: offset })).output.includes("later\r\nlater"),
  );
});

// Promise: R12
test.each([
  ["deleted together with its writer", true],
  ["emptied", false],
])("a log that is %s goes on at the offset where it ended", async (_how, isDeleted) => {
  sidecar = await startSidecar();
  const { client, stateDir } = sidecar;
  const log = (threadId: string) => join(stateDir, "logs", `${threadId}.log`);
  await openTerminal(client, "lost", "seq 1000; cat");
  await untilOutput(client, "lost", "1000\r\n");
  const { offset } = await client.getThread("lost");
  // A younger thread's log is written back: by then the other one has been looked at.
  await openTerminal(client, "probe", "echo here; cat");
  await untilOutput(client, "probe", "here");
  rmSync(log("probe"));
  await untilOutput(client, "probe", DELETED);

  if (isDeleted) process.kill(sinkPid("lost"), "SIGKILL");
  if (isDeleted) rmSync(log("lost"));
  else truncateSync(log("lost"));
  const reply = await until("it to go on", async () => {
    const reply = await client.readOutput("lost", { since: offset });
    return reply.output.includes("[threadmux: the log was emptied; what was in it is gone]") && reply;
  });
  expect(reply.firstOffset).toBe(offset);
  expect((await client.readOutput("lost")).gone).toBe(offset);
  await client.sendInput("lost", { text: "after" });
  await untilOutput(client, "lost", "after\r\nafter");
});

const FLOOD_LINES = inFull(3_000_000, 1_000_000);

test("a log that is written anew under a flood loses nothing behind its first offset", {
  timeout: 120_000,
}, async () => {
  sidecar = await startSidecar({ logMaxBytes: 2 * MIB }, { canPunchLogs: false });
  const { client } = sidecar;
  await openTerminal(client, "flood", `seq -f %09.0f 0 ${FLOOD_LINES - 1}`);
  await untilEnded(client, "flood", 60_000);
  // The last of it may have to be given back yet: what is read meanwhile has several first offsets.
  await until(
    "the log to be small enough",
    async () => (await client.getThread("flood")).logBytes <= 2 * MIB,
  );
  const { output, firstOffset } = await readAll(client, "flood");
  expect(firstOffset).toBeGreaterThan(0);
  expect(output.startsWith(expectedLine(firstOffset / 11))).toBe(true);
  expect(output.length).toBe(FLOOD_LINES * 11 - firstOffset);
  const numbers = output.trimEnd().split("\r\n").map(Number);
  expect(numbers.every((n, i) => n === firstOffset / 11 + i)).toBe(true);
});

// Promise: R25
test("all logs together are bounded: ended threads go first", async () => {
  sidecar = await startSidecar({ logMaxBytes: 64 * MIB, stateMaxBytes: 5 * MIB }, { totalIntervalMs: 250 });
  const { client } = sidecar;
  await printMuch(client, "old");
  await client.killThread("old");
  await printMuch(client, "new");
  await until("the ended thread to be removed", async () => {
    return (await client.listThreads({ status: "all" })).every(({ threadId }) => threadId !== "old");
  });
  expect((await client.readOutput("new", { limit: 1 })).firstOffset).toBe(0);
});
