import { writeFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { MAX_UNREAD_BYTES } from "../../shared/attach.ts";
import { attach, countClients, startForViewers, type TestViewer } from "../support/console.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { openTerminal, untilOutput } from "../support/threads.ts";
import { until } from "../support/wait.ts";

let sidecar: TestSidecar;
beforeAll(async () => {
  sidecar = await startForViewers();
});
afterAll(() => sidecar.close());

describe("a slow viewer", () => {
  /** Repaints everything in other colours, as fast as it can. */
  const FLOOD = `while :; do i=$((i+1)); printf '\\033[H'; seq -f "\\033[3$((i%8))mline %.0f $i xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx" 1 99; done`;

  async function keyToEcho(threadId: string): Promise<number> {
    const { offset } = await sidecar.client.getThread(threadId);
    const startedAt = performance.now();
    await sidecar.client.sendInput(threadId, { text: "x", enter: false });
    const { output } = await sidecar.client.readOutput(threadId, { since: offset, waitMs: 20_000 });
    expect(output).not.toBe("");
    return performance.now() - startedAt;
  }

  test.each(["yes $(seq -s. 60)", FLOOD])(
    "that never reads holds up nobody, is sent little, and is dropped (%#)",
    async (command) => {
      const id = command === FLOOD ? "flood" : "yes";
      await openTerminal(sidecar.client, id, command, { cols: 200, rows: 100 });
      await openTerminal(sidecar.client, `${id}-other`, "stty raw; echo ready; cat");
      await untilOutput(sidecar.client, `${id}-other`, "ready");
      const slow = await attach(sidecar, id, { query: "?acks=1" });
      const quick = await attach(sidecar, id);
      await until("the slow one's window to be full", () => slow.bytes() > MAX_UNREAD_BYTES);
      const from = quick.bytes();
      const echoes: number[] = [];
      for (let i = 0; i < 10; i++) echoes.push(await keyToEcho(`${id}-other`));
      expect(Math.max(...echoes)).toBeLessThan(10_000); // a tmux that is held up does not answer at all
      await until("the quick one to be served all the same", () => quick.bytes() > from);
      expect(await slow.closed).toBe(4408);
      expect(slow.bytes()).toBeLessThan(MAX_UNREAD_BYTES + 128 * 1024);
      await until("its tmux client to end", async () => (await countClients(sidecar, id)) === 1);
      await quick.close();
      await sidecar.client.killThread(id);
    },
  );

  test("that reads again sees the present, drawn anew", async () => {
    const own = await startSidecar();
    try {
      const flood = `yes "$(printf '\\033[32mgreen%0180d')" & while [ ! -e full ]; do sleep 0.1; done; kill $!; wait; printf '\\033[0m'; clear; echo the-present; sleep 60`;
      // A large picture: to a client that is behind, tmux draws only ten a second.
      const [cols, rows] = [200, 100];
      await openTerminal(own.client, "a", flood, { cols, rows });
      const viewer = await attach(own, "a", { query: "?acks=1" });
      await until("its window to be full", () => viewer.bytes() > MAX_UNREAD_BYTES);
      // tmux itself keeps this much for a client, and throws all of it away once there is more. A slow machine's tmux
      // would have less by now, and would deliver it.
      const keptBytes = 8 * cols * rows;
      const { offset } = await own.client.getThread("a");
      const printed = async () => (await own.client.getThread("a")).offset - offset;
      await until("far more to be printed than tmux keeps", async () => (await printed()) > 20 * keptBytes);
      writeFileSync(`${own.reposDir}/full`, "");
      await untilOutput(own.client, "a", "the-present");
      const missed = viewer.bytes();
      expect(viewer.screen()).not.toContain("the-present");
      viewer.socket.send(JSON.stringify({ type: "ack", bytes: missed }));
      await viewer.untilScreen("the-present");
      expect(viewer.bytes() - missed).toBeLessThan(keptBytes);
      await viewer.close();
    } finally {
      await own.close();
    }
  });

  test("whose connection takes nothing is dropped too, and finds out why when it reads again", async () => {
    const own = await startSidecar({}, { viewersLimits: { stallTimeoutMs: 1_000, closeGraceMs: 20_000 } });
    try {
      // A megabyte a picture: the kernel's own buffers take some of them first.
      const cells = Array.from({ length: 500 * 200 }, (_, i) => `\x1b[38;5;${(i * 7) % 256}m#`);
      writeFileSync(`${own.reposDir}/picture`, `\x1b[H${cells.join("")}`);
      await openTerminal(own.client, "a", "while :; do cat picture; clear; done", { cols: 500, rows: 200 });
      const viewer = await attach(own, "a");
      await until("the first bytes", () => viewer.bytes() > 0);
      viewer.socket.pause();
      const clients = () => own.folders.tmux("list-clients", "-F", "#{session_name}");
      await until("its tmux client to end", async () => !(await clients()).includes("thread-a"), {
        timeoutMs: 45_000,
      });
      viewer.socket.resume();
      expect(await viewer.closed).toBe(4408);
    } finally {
      await own.close();
    }
  });
});

describe("limits", () => {
  async function all(viewers: TestViewer[]): Promise<void> {
    await Promise.all(viewers.map((viewer) => viewer.close()));
  }

  test("8 viewers a thread, and so many in all", async () => {
    await openTerminal(sidecar.client, "many", "echo up; sleep 60");
    await openTerminal(sidecar.client, "more", "echo up; sleep 60");
    const viewers = await Promise.all(Array.from({ length: 8 }, () => attach(sidecar, "many")));
    await Promise.all(viewers.map((viewer) => viewer.untilScreen("up")));
    const ninth = await attach(sidecar, "many");
    expect(await ninth.closed).toBe(4429);
    expect(ninth.frames).toEqual([
      { type: "error", code: "max_threads", error: "8 terminals are open on this thread; close one first." },
    ]);
    const others = await Promise.all([attach(sidecar, "more"), attach(sidecar, "more")]);
    const eleventh = await attach(sidecar, "more");
    expect(await eleventh.closed).toBe(4429);
    await all([...viewers, ...others]);
    await until("room", async () => (await countClients(sidecar, "many")) === 0);
    const again = await attach(sidecar, "many");
    await again.untilScreen("up");
    await again.close();
  });

  test("a frame of 64 KiB goes in, a larger one closes the socket", async () => {
    await openTerminal(
      sidecar.client,
      "frames",
      "stty raw -echo; echo ready; head -c 65536 | wc -c; sleep 60",
    );
    const viewer = await attach(sidecar, "frames");
    await viewer.untilScreen("ready");
    viewer.type("y".repeat(65_536));
    await viewer.untilScreen("65536");
    viewer.type("y".repeat(65_537));
    expect(await viewer.closed).toBe(1009);
  });

  test("text that is no control frame closes the socket", async () => {
    await openTerminal(sidecar.client, "control", "echo up; sleep 60");
    for (const text of ["no json", '{"type":"size","cols":1,"rows":1}', '{"type":"ack","bytes":-1}']) {
      const viewer = await attach(sidecar, "control");
      viewer.socket.send(text);
      expect(await viewer.closed).toBe(4400);
    }
  });

  test("a peer that answers no ping is cut off, one that does is not", async () => {
    const own = await startSidecar({}, { viewersLimits: { pingIntervalMs: 1_000 } });
    try {
      await openTerminal(own.client, "a", "echo up; sleep 60");
      const deaf = await attach(own, "a", { options: { autoPong: false } });
      const alive = await attach(own, "a");
      expect(await deaf.closed).toBe(1006);
      await until("three pings", () => alive.frames.filter(({ type }) => type === "status").length > 3);
      expect(alive.socket.readyState).toBe(alive.socket.OPEN);
      await alive.close();
    } finally {
      await own.close();
    }
  });
});
