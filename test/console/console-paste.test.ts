import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { attach } from "../support/console.ts";
import { signal } from "../support/processes.ts";
import { type SpawnedSidecar, spawnSidecar } from "../support/sidecar.ts";
import { openTerminal } from "../support/threads.ts";
import { until, untilValue } from "../support/wait.ts";

const FRAME_BYTES = 60 * 1024;
const STOPS = 8;
const escapeTimeOf = ({ folders }: SpawnedSidecar) => folders.tmux("show-options", "-s", "-v", "escape-time");

let sidecar: SpawnedSidecar;
beforeAll(async () => {
  sidecar = await spawnSidecar();
});
afterAll(() => sidecar.close());

/** A viewer of a thread whose program writes into a file what it gets. */
async function openSink(threadId: string) {
  const file = join(sidecar.folders.path, threadId);
  await openTerminal(sidecar.client, threadId, `stty raw -echo; echo ready; exec cat > ${file}`);
  const viewer = await attach(sidecar, threadId);
  await viewer.untilScreen("ready");
  return { viewer, bytes: () => statSync(file).size, text: () => readFileSync(file, "utf8") };
}

/** By then tmux has read all that there is, and waits no more for what there is not. */
async function untilAllIsRead(bytes: () => number): Promise<void> {
  let before = -1;
  await until("tmux to have read all", async () => {
    const now = bytes();
    const isSame = now === before;
    before = now;
    for (let i = 0; i < 5; i++) await sidecar.folders.tmux("list-sessions");
    return isSame;
  });
}

test("a paste is whole, however long the sidecar stands still in its midst", async () => {
  const { viewer, bytes, text } = await openSink("paste");
  let sent = "";
  for (let stop = 0; stop < STOPS; stop++) {
    const frames = Array.from({ length: 2 }, () => "漢".repeat(FRAME_BYTES / 3));
    const before = bytes();
    for (const frame of frames) viewer.type(frame);
    sent += frames.join("");
    await until("some of it", () => bytes() > before, { intervalMs: 0 });
    signal(sidecar.pid(), "SIGSTOP");
    await untilAllIsRead(bytes);
    signal(sidecar.pid(), "SIGCONT");
    await until("a part to be written", () => viewer.socket.bufferedAmount === 0);
  }
  viewer.type("\r");
  sent += "\r";
  await until("the end of the paste", () => text().endsWith("\r"));
  const got = text();
  expect({ bytes: Buffer.byteLength(got), isSame: got === sent }).toEqual({
    bytes: Buffer.byteLength(sent),
    isSame: true,
  });
  await untilValue(
    "Esc to be quick again",
    () => escapeTimeOf(sidecar),
    (shown) => shown === "10\n",
  );
  await viewer.close();
});

test("Esc is quick again after a sidecar that was killed in the midst of a paste", async () => {
  const { viewer } = await openSink("killed");
  // The patience is short: while it is looked for, the paste goes on.
  const paste = () => {
    viewer.type("x".repeat(FRAME_BYTES));
    return escapeTimeOf(sidecar);
  };
  await untilValue("tmux to be patient", paste, (shown) => shown === "5000\n", { intervalMs: 0 });
  await sidecar.kill9();
  await sidecar.start();
  expect(await escapeTimeOf(sidecar)).toBe("10\n");
  await viewer.closed;
});
