import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterEach, describe, expect, test } from "vitest";
import { listProcesses } from "../support/processes.ts";
import { makeSidecarFolders, type SpawnedSidecar, spawnSidecar, startSidecar } from "../support/sidecar.ts";
import { openTerminal, readAll, refusal, untilEnded, untilOutput } from "../support/threads.ts";
import { until, untilValue } from "../support/wait.ts";

let sidecar: SpawnedSidecar;

afterEach(() => sidecar.close());

const start = async (env: Record<string, string> = {}) => {
  sidecar = await spawnSidecar({ MAX_THREADS: "50", ...env });
  return sidecar;
};

// Promise: R2
test("killed and started again: the same threads, offsets and processes", async () => {
  const { client, kill9, start: startAgain } = await start();
  await openTerminal(client, "shell", "PS1='> ' bash --norc -i");
  await untilOutput(client, "shell", "> ");
  await client.sendInput("shell", { text: "VAR=kept; sleep 1000.5 &" });
  await openTerminal(client, "over", "echo bye; exit 3");
  await openTerminal(client, "silent", "exec sleep 1000");
  await openTerminal(client, "gone", "exec sleep 1000");
  await client.killThread("gone");
  await untilEnded(client, "over");
  await openTerminal(
    client,
    "counter",
    "i=0; while [ $i -lt 300 ]; do i=$((i+1)); echo $i; sleep 0.01; done; exit 9",
  );
  await untilOutput(client, "counter", "20\r\n");
  await untilValue(
    "the shell to rest",
    async () => (await readAll(client, "shell")).output,
    (all) => /\[1\] \d+\r\n.*> $/s.test(all),
  );
  await client.putDelivery("shell", { offset: 3, page: "1" });
  const before = await client.listThreads({ status: "all" });
  const panes = await sidecar.folders.tmux(
    "list-panes",
    "-a",
    "-F",
    "#{session_name} #{pane_id} #{pane_pid}",
  );
  const shellLog = await readAll(client, "shell");

  await kill9();
  expect(await refusal(client.listThreads())).toMatchObject({ code: "unavailable" });
  await startAgain();

  const still = ({ threadId }: { threadId: string }) => threadId !== "counter";
  const after = await client.listThreads({ status: "all" });
  expect(after.filter(still)).toEqual(before.filter(still));
  expect(await sidecar.folders.tmux("list-panes", "-a", "-F", "#{session_name} #{pane_id} #{pane_pid}")).toBe(
    panes,
  );
  expect(await readAll(client, "shell")).toEqual(shellLog);
  await client.sendInput("shell", { text: "echo $VAR $(jobs | wc -l)" });
  await untilOutput(client, "shell", "kept 1\r\n");
  const { output, exitCode } = await untilEnded(client, "counter");
  expect(output).toBe(Array.from({ length: 300 }, (_, i) => `${i + 1}\r\n`).join(""));
  expect(exitCode).toBe(9);
});

test("what ended while the sidecar was away is known afterwards, with its code and its time", async () => {
  const { client, kill9, start: startAgain, reposDir } = await start();
  await openTerminal(client, "waiting", "until [ -e go ]; do sleep 0.02; done; echo gone; exit 4");
  const isWrapped = () => listProcesses().some((p) => p.command.includes(`${sidecar.stateDir}/runs/waiting`));
  await until("the program to begin", isWrapped);
  await kill9();
  writeFileSync(join(reposDir, "go"), "");
  await until("the program to end", () => !isWrapped());
  const endedBy = Date.now();
  await startAgain();
  expect(await untilEnded(client, "waiting")).toMatchObject({ output: "gone\r\n", exitCode: 4 });
  expect(Date.parse((await client.getThread("waiting")).endedAt ?? "")).toBeLessThanOrEqual(endedBy);
});

test("killed at any moment of creating and killing: every thread is there wholly or not at all", async () => {
  const { client, kill9, start: startAgain, folders } = await start();
  const programs = () => listProcesses().filter((p) => p.command.startsWith(`sleep 1000.9${process.pid}`));
  for (let round = 0; round < 4; round++) {
    const ids = Array.from({ length: 8 }, (_, i) => `r${round}-${i}`);
    const calls = ids.map(async (id, i) => {
      await openTerminal(client, id, `echo I am ${id}; exec sleep 1000.9${process.pid}`);
      if (i % 2 === 0) await client.killThread(id);
    });
    // The moment is different each time: after as many answers as there were rounds.
    let answers = 0;
    const settled = calls.map((call) => call.catch(() => undefined).finally(() => answers++));
    await until("some answers", () => answers >= round, { intervalMs: 1 });
    await kill9();
    await Promise.all(settled);
    await startAgain();
    const look = async () => {
      const open = await client.listThreads();
      const sessions = (await folders.tmux("list-sessions", "-F", "#{session_name}")).trim().split("\n");
      const running = open.filter((thread) => thread.status === "running");
      return { open, sessions: sessions.sort(), running: running.length, programs: programs().length };
    };
    const { open } = await untilValue("sessions, threads and processes to agree", look, (seen) => {
      const expected = ["_ctl", ...seen.open.map((thread) => `thread-${thread.threadId}`)];
      return seen.sessions.join() === expected.sort().join() && seen.programs === seen.running;
    });
    for (const { threadId, status } of open) {
      // A kill that was cut off in the middle has ended the program at the most, maybe before its first word.
      const mayHaveEnded = Number(threadId.at(-1)) % 2 === 0;
      expect(status).toMatch(mayHaveEnded ? /^(running|exited)$/ : /^running$/);
      if (status === "running") await untilOutput(client, threadId, "I am");
      expect((await readAll(client, threadId)).output).toMatch(/^(I am r\d-\d\r\n.*)?$/s);
      await client.killThread(threadId);
    }
  }
}, 120_000);

describe("at its start", () => {
  test("the sidecar removes a half-made thread and ends sessions that nobody knows", async () => {
    const { client, kill9, start: startAgain, folders, stateDir } = await start();
    const nap = `1000.4${process.pid}`;
    await openTerminal(client, "whole", "cat");
    await openTerminal(client, "half", `setsid sleep ${nap}1 & exec sleep ${nap}2`);
    await openTerminal(client, "forgotten", `trap '' HUP TERM; setsid sleep ${nap}3 & exec sleep ${nap}4`);
    await openTerminal(client, "no-session", "cat");
    const seen = () => listProcesses().filter((p) => p.command.startsWith(`sleep ${nap}`));
    await until("all of it to run", () => seen().length === 4);
    await kill9();
    const db = new Database(join(stateDir, "threadmux.db"));
    db.prepare("UPDATE threads SET is_made = 0 WHERE thread_id IN ('half', 'no-session')").run();
    db.prepare("DELETE FROM threads WHERE thread_id = 'forgotten'").run();
    db.close();
    rmSync(join(stateDir, "logs/forgotten.log")); // as a creation that failed leaves it
    await folders.tmux("kill-session", "-t", "=thread-no-session");
    await folders.tmux("new-session", "-d", "-s", "by-hand", `sleep ${nap}4`);
    await startAgain();
    const open = await client.listThreads({ status: "all" });
    expect(open.map((thread) => [thread.threadId, thread.status])).toEqual([["whole", "running"]]);
    await until("the sessions to end", async () => {
      const names = await folders.tmux("list-sessions", "-F", "#{session_name}");
      return names.trim().split("\n").sort().join() === "_ctl,thread-whole";
    });
    await until("their programs to end", () => seen().length === 0);
    await openTerminal(client, "half", "echo new; cat"); // the id is free again
    expect(await untilOutput(client, "half", "new\r\n")).toBe("new\r\n");
  });

  test("threads whose session is gone are lost, and what they left running is ended", async () => {
    const { client, kill9, start: startAgain, folders } = await start();
    const nap = `1000.5${process.pid}`;
    await openTerminal(client, "lost", `echo before; setsid nohup sleep ${nap}1 & exec sleep ${nap}2`);
    await untilOutput(client, "lost", "before");
    // A control client that nobody reads from can stay for ever, and with it the server that it should leave.
    process.kill(Number(await folders.tmux("list-clients", "-F", "#{client_pid}")), "SIGSTOP");
    await kill9();
    await folders.tmux("kill-server");
    await startAgain();
    const thread = await untilValue(
      "the thread to be lost",
      () => client.getThread("lost"),
      ({ status }) => status === "lost",
    );
    expect(thread).toMatchObject({ processRunning: false, exitCode: null });
    expect(thread.endedAt).not.toBeNull();
    expect((await readAll(client, "lost")).output).toContain("before");
    expect(await refusal(client.sendInput("lost", { text: "x" }))).toEqual({
      code: "thread_ended",
      message: "Thread lost takes no input: it was lost with the tmux server.",
    });
    expect(await refusal(client.killThread("lost"))).toMatchObject({ code: "thread_ended" });
    const left = () => listProcesses().filter((p) => p.command.startsWith(`sleep ${nap}`));
    await until("what it left to end", () => left().length === 0);
  });
});

test("a second sidecar on the same STATE_DIR is refused, and the first goes on", async () => {
  const { client, folders } = await start();
  await expect(startSidecar({}, { folders: { ...folders, close: async () => undefined } })).rejects.toThrow(
    "another sidecar runs on this STATE_DIR; stop it first, or choose another folder",
  );
  await openTerminal(client, "still", "echo fine");
  expect((await untilEnded(client, "still")).output).toBe("fine\r\n");
  const other = makeSidecarFolders();
  const beside = await startSidecar({}, { folders: other });
  await beside.close();
});
