/** The command line as a person uses it: the sidecar, tmux or the connection goes away under who sits at a thread. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { buildCli, type Cli } from "../support/cli.ts";
import { signal } from "../support/processes.ts";
import { startProxy, type TcpProxy } from "../support/proxy.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { openTerminal, readAll, untilOutput } from "../support/threads.ts";
import { until } from "../support/wait.ts";

vi.setConfig({ testTimeout: 60_000 });

const LEFT = "\u001b[?1049l\u001b[23;0;0t\u001b[?25h";
const CTRL_C = "\u0003";
const DETACH = "\u0002d";

let sidecar: TestSidecar;
let cli: Cli;
let proxy: TcpProxy;

beforeAll(async () => {
  sidecar = await startSidecar({ maxThreads: 100 });
  cli = await buildCli(sidecar);
  proxy = await startProxy(Number(new URL(sidecar.url).port));
});
afterAll(async () => {
  await proxy?.close();
  await sidecar?.close();
});

async function sitDown(threadId: string, url = sidecar.url) {
  await openTerminal(sidecar.client, threadId, "stty -echo; echo ready; cat");
  const terminal = cli.terminal(["attach", threadId, "--url", url]);
  await terminal.untilShown("ready");
  return terminal;
}

/** What was shown after the last occurrence of `text`. */
const shownAfter = (shown: string, text: string) => shown.slice(shown.lastIndexOf(text) + text.length);

test("a megabyte goes in as it is and in its order, also if the keys that leave follow at once", async () => {
  const { client } = sidecar;
  const line = "0123456789 \u0001\u0003\u0007\u0008\u0011\u0013\u001a\u001c\u007f é 漢 #{x};'\"\\ \t";
  const pasted = Buffer.from(line.repeat((1024 * 1024) / Buffer.byteLength(line)));
  const sum = createHash("sha256").update(pasted).digest("hex");
  await openTerminal(
    client,
    "paste",
    `stty raw -echo; echo ready; head -c ${pasted.length} | sha256sum; sleep 60`,
  );
  const { pty, untilShown, end } = cli.terminal(["attach", "paste"]);
  await untilShown("ready");
  pty.write(pasted);
  pty.write("\u0002d");
  expect(await end()).toBe(0);
  await untilOutput(client, "paste", sum);
});

// Promise: S44
test("a sidecar that restarts is waited for; the screen comes back by itself", async () => {
  const { pty, shown, untilShown, end } = await sitDown("restart");
  await sidecar.stop();
  await untilShown("[restart: The sidecar stops. Waiting for the sidecar; C-b d leaves]\r\n");
  // Its words stand on the person's own screen.
  expect(shownAfter(shown(), LEFT)).toContain("Waiting for the sidecar");
  pty.write("into the void\r");
  await sidecar.restart();
  await until("the screen to be back", () => shownAfter(shown(), "C-b d leaves]").includes("ready"));
  pty.write("typed again\r");
  await untilOutput(sidecar.client, "restart", "typed again\r\n");
  pty.write(DETACH);
  expect(await end()).toBe(0);
  expect((await readAll(sidecar.client, "restart")).output).not.toContain("void");
});

describe("a connection that breaks", () => {
  test("is made again", async () => {
    const { pty, shown, untilShown, end } = await sitDown("broken", proxy.url);
    await proxy.cut();
    await untilShown("Waiting for the sidecar");
    await proxy.mend();
    await until("the screen to be back", () => shownAfter(shown(), "C-b d leaves]").includes("ready"));
    pty.write("typed again\r");
    await untilOutput(sidecar.client, "broken", "typed again\r\n");
    pty.write(DETACH);
    expect(await end()).toBe(0);
  });

  test.each([
    ["the keys that leave", (pty: { write: (keys: string) => void }) => pty.write(DETACH), 0],
    ["Ctrl-C", (pty: { write: (keys: string) => void }) => pty.write(CTRL_C), 130],
    ["SIGTERM", ({ pid }: { pid: number }) => signal(pid, "SIGTERM"), 0],
  ] as const)("%s end the waiting, the terminal is right", async (_what, act, code) => {
    const id = `wait-${code}-${_what.length}`;
    const { pty, shown, untilShown, end } = await sitDown(id, proxy.url);
    await proxy.cut();
    try {
      await untilShown("Waiting for the sidecar");
      act(pty);
      expect(await end()).toBe(code);
      expect(shownAfter(shown(), LEFT)).toContain(`[${id}: goes on; threadmux attach ${id} comes back]\r\n`);
    } finally {
      await proxy.mend();
    }
  });

  test("a thread that ended meanwhile is told as such", async () => {
    const { untilShown, end, shown } = await sitDown("meanwhile", proxy.url);
    await proxy.cut();
    await untilShown("Waiting for the sidecar");
    await sidecar.client.killThread("meanwhile");
    await proxy.mend();
    expect(await end()).toBe(0);
    expect(shown()).toMatch(/\[meanwhile: Thread meanwhile is over: killed\.\]\r\n$/);
  });
});

describe("a connection that is held up", () => {
  test("takes so much of what is typed and no more; what could not go in is told on leaving", async () => {
    const { pty, shown, end } = await sitDown("stalled", proxy.url);
    proxy.stall();
    try {
      pty.write("x".repeat(32 * 1024 * 1024)); // more than the kernel's buffers take, and than is kept here
      let before = -1;
      await until(
        "it to read no more",
        () => {
          const read = Number(/rchar: (\d+)/.exec(readFileSync(`/proc/${pty.pid}/io`, "utf8"))?.[1]);
          const isFull = read === before && read > 8 * 1024 * 1024;
          before = read;
          return isFull;
        },
        { intervalMs: 500 },
      );
      const peakKilobytes = Number(
        /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pty.pid}/status`, "utf8"))?.[1],
      );
      expect(peakKilobytes).toBeLessThan(220 * 1024);
      signal(pty.pid, "SIGTERM");
      expect(await end()).toBe(0);
      expect(shownAfter(shown(), LEFT)).toMatch(
        /\[stalled: the last \d+ bytes of what was typed did not go in\]\r\n/,
      );
    } finally {
      proxy.flow();
    }
  });

  test("can be left by its keys, and the terminal is put right", async () => {
    const { pty, shown, end } = await sitDown("stuck", proxy.url);
    proxy.stall();
    try {
      pty.write(`x\r${DETACH}`);
      expect(await end()).toBe(0);
      expect(shownAfter(shown(), LEFT)).toContain("stuck: goes on");
    } finally {
      proxy.flow();
    }
  });

  test("what was typed meanwhile goes in when it goes on", async () => {
    const { pty, end } = await sitDown("flows", proxy.url);
    proxy.stall();
    pty.write("held up\r");
    proxy.flow();
    await untilOutput(sidecar.client, "flows", "held up\r\n");
    pty.write(DETACH);
    expect(await end()).toBe(0);
  });
});

test.each([
  ["SIGINT", 130],
  ["SIGHUP", 0],
  ["SIGQUIT", 130],
] as const)("%s leaves the thread running and the terminal right: exit code %i", async (name, code) => {
  const id = name.toLowerCase();
  const { pty, shown, end } = await sitDown(id);
  signal(pty.pid, name);
  expect(await end()).toBe(code);
  expect(shown()).toContain(LEFT);
  expect(await sidecar.client.getThread(id)).toMatchObject({ status: "running" });
});

test("a terminal that is closed ends it", async () => {
  const { pty, end } = await sitDown("closed");
  pty.kill("SIGHUP");
  await end();
  expect(await sidecar.client.getThread("closed")).toMatchObject({ status: "running" });
});

// The last: this stops tmux under everybody's feet.
test("it can be left while tmux hangs, and the terminal is put right", async () => {
  const { pty, shown, end } = await sitDown("hang");
  const tmux = sidecar.folders.tmuxPid();
  signal(tmux, "SIGSTOP");
  try {
    pty.write(DETACH);
    expect(await end()).toBe(0);
    expect(shown()).toContain(LEFT);
  } finally {
    signal(tmux, "SIGCONT");
  }
});
