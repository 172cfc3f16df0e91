/** What a thread did not start goes on when the thread is killed, also where the two met. */
import { execFile, spawn } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { listProcesses } from "../support/processes.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { openTerminal, untilOutput } from "../support/threads.ts";
import { until } from "../support/wait.ts";

const run = promisify(execFile);

let sidecar: TestSidecar;
let withoutGroups: TestSidecar;

beforeAll(async () => {
  sidecar = await startSidecar();
  withoutGroups = await startSidecar({}, { canUseCgroups: false });
});
afterAll(async () => {
  await sidecar.close();
  await withoutGroups.close();
});

/** Of this run alone: others may test on this machine too. */
const NAP = `1000.7${process.pid}`;
const isNapping = (which: number) =>
  listProcesses().some(({ command }) => command === `sleep ${NAP}${which}`);

// Promise: S46
describe.each([
  ["", () => sidecar],
  [", where there are no control groups,", () => withoutGroups],
])("a kill%s leaves alone", (_where, own) => {
  const findTty = async (threadId: string) => {
    const format = ["-F", "#{pane_tty}"];
    return (await own().folders.tmux("list-panes", "-t", `=thread-${threadId}:`, ...format)).trim();
  };

  test("another thread's program that has its terminal open", async () => {
    const { client } = own();
    await openTerminal(client, "mine", "exec sleep 1000");
    const tty = await findTty("mine");
    await openTerminal(client, "theirs", `exec 3<>${tty} && exec setsid sh -c 'echo open; exec cat'`);
    await untilOutput(client, "theirs", "open");
    expect(await client.killThread("mine")).toMatchObject({ survivors: 0 });
    await client.sendInput("theirs", { text: "alive" });
    await untilOutput(client, "theirs", "alive\r\nalive\r\n");
    await client.killThread("theirs");
  });

  test("a stranger that has its terminal open", async () => {
    const { client } = own();
    await openTerminal(client, "shown", "exec sleep 1000");
    const tty = await findTty("shown");
    const stranger = spawn("sh", ["-c", `exec 3<>${tty}; exec sleep ${NAP}1`], { detached: true });
    await until("the stranger", () => isNapping(1));
    expect(await client.killThread("shown")).toMatchObject({ survivors: 0 });
    expect(isNapping(1)).toBe(true);
    stranger.kill();
  });

  test("a person's own tmux server that it has a client of", async () => {
    const { client, folders } = own();
    const socket = join(folders.path, "own.sock");
    const personal = ["-S", socket, "-f", "/dev/null"];
    await openTerminal(client, "inside", `read go; exec tmux ${personal.join(" ")} attach`);
    await run("tmux", [...personal, "new-session", "-d", "-x", "80", "-y", "24", `sleep ${NAP}2`]);
    await until("its program", () => isNapping(2));
    await client.sendInput("inside", { text: "go" });
    const clients = async () => (await run("tmux", [...personal, "list-clients"])).stdout;
    await until("the client", async () => (await clients()) !== "");
    expect(await client.killThread("inside")).toMatchObject({ survivors: 0 });
    expect(isNapping(2)).toBe(true);
    await until("the client to be gone", async () => (await clients()) === "");
    await run("tmux", [...personal, "kill-server"]);
  });
});
