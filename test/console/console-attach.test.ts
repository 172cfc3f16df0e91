import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openAgent, STAND_IN_CONFIG, script, standIn, untilStatus } from "../support/agents.ts";
import { attach, countClients, startForViewers } from "../support/console.ts";
import { findProcessesOf } from "../support/processes.ts";
import { spawnSidecar, startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { openTerminal, untilOutput } from "../support/threads.ts";
import { until, untilValue } from "../support/wait.ts";

const SHELL = "PS1='$ ' exec bash --norc --noprofile";

let sidecar: TestSidecar;
beforeAll(async () => {
  sidecar = await startForViewers();
});
afterAll(() => sidecar.close());

describe("a viewer", () => {
  test("is told the size and the status, sees the screen and types", async () => {
    await openTerminal(sidecar.client, "types", "printf 'before\\n'; PS1='$ ' exec bash --norc --noprofile", {
      cols: 90,
      rows: 20,
    });
    await untilOutput(sidecar.client, "types", "before");
    const viewer = await attach(sidecar, "types");
    await viewer.untilScreen("before");
    expect(viewer.frames).toEqual([
      { type: "size", cols: 90, rows: 20 },
      { type: "status", status: "running", exitCode: null, signal: null },
    ]);
    viewer.type("echo $((6 * 7))-$(tput cols)x$(tput lines)\r");
    await viewer.untilScreen("42-90x20");
    await viewer.close();
    await until("the tmux client to end", async () => (await countClients(sidecar, "types")) === 0);
  });

  test("sends any bytes as they are", async () => {
    await openTerminal(
      sidecar.client,
      "bytes",
      "stty raw -echo; echo ready; head -c 9 | od -An -tx1; sleep 60",
    );
    const viewer = await attach(sidecar, "bytes");
    await viewer.untilScreen("ready");
    viewer.type("é;#{x}\x03\x01");
    await viewer.untilScreen("c3 a9 3b 23 7b 78 7d 03 01");
    await viewer.close();
  });

  test("sends a character whose bytes come one after the other, however late", async () => {
    await openTerminal(sidecar.client, "cut", "stty raw -echo; echo ready; exec cat -v");
    const viewer = await attach(sidecar, "cut");
    await viewer.untilScreen("ready");
    viewer.socket.send(Buffer.from([0x78, 0xe6]));
    await viewer.untilScreen("x");
    // tmux has given up waiting by the time at which another viewer has its first screen.
    const other = await attach(sidecar, "cut");
    await other.untilScreen("ready");
    viewer.socket.send(Buffer.from([0xbc]));
    viewer.socket.send(Buffer.from([0xa2, 0x79]));
    await viewer.untilScreen('M-fM-<M-"y');
    await Promise.all([viewer.close(), other.close()]);
  });

  test("keys that come before tmux has its terminal go in as they are", async () => {
    await openTerminal(
      sidecar.client,
      "early",
      "stty raw -echo; echo ready; head -c 4 | od -An -tx1; sleep 60",
    );
    await untilOutput(sidecar.client, "early", "ready");
    const viewer = await attach(sidecar, "early");
    viewer.type("\x03\x15\x7f\r");
    await viewer.untilScreen("03 15 7f 0d");
    await viewer.close();
  });

  test("that comes back sees the screen as it is now, colours too", async () => {
    await openTerminal(sidecar.client, "back", SHELL);
    const first = await attach(sidecar, "back");
    first.type("printf '\\033[1;31m%s\\033[0m\\n' re'd'\r");
    await first.untilScreen("red");
    first.socket.terminate();
    const second = await attach(sidecar, "back");
    expect((await second.untilScreen("red")).replace(/\s/g, "")).toContain("\x1b[31m\x1b[1mred");
    await second.close();
  });

  test("is one of two: both see and both type", async () => {
    await openTerminal(sidecar.client, "two", SHELL);
    const [one, other] = await Promise.all([attach(sidecar, "two"), attach(sidecar, "two")]);
    one.type("echo from-$((1))\r");
    await other.untilScreen("from-1");
    other.type("echo from-$((2))\r");
    await one.untilScreen("from-2");
    await Promise.all([one.close(), other.close()]);
  });

  test("in view mode can't type, and sees", async () => {
    await openTerminal(sidecar.client, "view", SHELL);
    const viewer = await attach(sidecar, "view", { query: "?mode=view" });
    await viewer.untilScreen("$ ");
    viewer.type("echo viewer-$((1))\r");
    const typist = await attach(sidecar, "view");
    typist.type("echo typist-$((1))\r");
    await viewer.untilScreen("typist-1");
    expect(viewer.screen()).not.toContain("viewer");
    expect(await sidecar.folders.tmux("list-clients", "-t", "=thread-view", "-F", "#{client_readonly}")).toBe(
      "1\n0\n",
    );
    await Promise.all([viewer.close(), typist.close()]);
  });

  test("never changes the size; /resize does, for everybody", async () => {
    await openTerminal(
      sidecar.client,
      "size",
      `trap 'echo now $(stty size)' WINCH; echo ready; while :; do sleep 0.05; done`,
    );
    const viewer = await attach(sidecar, "size");
    await viewer.untilScreen("ready"); // from here on the program hears of a new size
    const size = () =>
      sidecar.folders.tmux("list-windows", "-t", "=thread-size", "-F", "#{window_width}x#{window_height}");
    expect(await size()).toBe("80x24\n");
    await sidecar.client.resizeThread("size", { cols: 100, rows: 30 });
    await viewer.untilFrame("size", ({ cols, rows }) => cols === 100 && rows === 30);
    await viewer.untilScreen("now 30 100");
    expect(await size()).toBe("100x30\n");
    await untilValue(
      "the viewer's own terminal to have that size",
      () =>
        sidecar.folders.tmux("list-clients", "-t", "=thread-size", "-F", "#{client_width}x#{client_height}"),
      (shown) => shown === "100x30\n",
    );
    await viewer.close();
  });
});

describe("the end", () => {
  test("a process that ends is told; its last screen stays, also for who comes later", async () => {
    await openTerminal(sidecar.client, "exits", "echo; echo last words; read; exit 3");
    const viewer = await attach(sidecar, "exits");
    await viewer.untilScreen("last words");
    viewer.type("\r");
    const ended = await viewer.untilFrame("status", ({ status }) => status === "exited");
    expect(ended).toEqual({ type: "status", status: "exited", exitCode: 3, signal: null });
    const later = await attach(sidecar, "exits");
    await later.untilScreen("last words");
    expect(later.frames.at(-1)).toEqual(ended);
    await sidecar.client.killThread("exits");
    expect(await Promise.all([viewer.closed, later.closed])).toEqual([1000, 1000]);
    expect(later.frames.at(-1)).toMatchObject({ type: "end", status: "killed", exitCode: 3 });
  });

  test("a kill is told, the screen is not cleared, nobody can attach any more", async () => {
    await openTerminal(sidecar.client, "killed", "echo still here; sleep 60");
    const viewer = await attach(sidecar, "killed");
    await viewer.untilScreen("still here");
    await sidecar.client.killThread("killed");
    expect(await viewer.closed).toBe(1000);
    expect(viewer.frames.at(-1)).toMatchObject({
      type: "end",
      status: "killed",
      text: "The thread is over: killed.",
    });
    const shown = viewer.screen();
    const last = shown.slice(shown.lastIndexOf("still here"));
    for (const farewell of ["\x1b[?1049l", "\x1b[2J", "exited"]) expect(last).not.toContain(farewell);
    const late = await attach(sidecar, "killed");
    expect(await late.closed).toBe(4410);
    expect(late.frames).toEqual([
      { type: "error", code: "thread_ended", error: "Thread killed is over: killed." },
    ]);
  });

  test("a session that is ended by somebody else is told as lost", async () => {
    await openTerminal(sidecar.client, "lost", "echo up; sleep 60");
    const viewer = await attach(sidecar, "lost");
    await viewer.untilScreen("up");
    await sidecar.folders.tmux("kill-session", "-t", "=thread-lost");
    expect(await viewer.closed).toBe(1000);
    expect(viewer.frames.at(-1)).toMatchObject({ type: "end", status: "lost" });
  });

  test("a viewer whom tmux lets go is told to come back", async () => {
    await openTerminal(sidecar.client, "detached", "echo up; sleep 60");
    const viewer = await attach(sidecar, "detached");
    await viewer.untilScreen("up");
    await sidecar.folders.tmux("detach-client", "-s", "=thread-detached");
    expect(await viewer.closed).toBe(4503);
    expect(viewer.frames.at(-1)).toMatchObject({ type: "error", code: "unavailable" });
  });

  test("an unknown thread is said to be", async () => {
    const viewer = await attach(sidecar, "nobody");
    expect(await viewer.closed).toBe(4404);
    expect(viewer.frames).toEqual([
      { type: "error", code: "not_found", error: 'There is no thread "nobody".' },
    ]);
  });

  test("of the sidecar closes sockets and tmux clients; afterwards the screen is there again", async () => {
    const own = await startSidecar();
    try {
      await openTerminal(own.client, "a", "echo on the screen; sleep 60");
      const viewer = await attach(own, "a");
      const reader = await attach(own, "a", { query: "?mode=view" });
      await reader.untilScreen("on the screen");
      reader.socket.pause(); // does not even answer the close
      await own.stop();
      expect(await viewer.closed).toBe(1001);
      reader.socket.resume();
      await reader.closed;
      const clients = () =>
        findProcessesOf(own.stateDir).filter(({ command }) => /attach-session/.test(command));
      await until("the tmux clients to end", () => clients().length === 0);
      await own.restart();
      const again = await attach(own, "a");
      await again.untilScreen("on the screen");
      await again.close();
    } finally {
      await own.close();
    }
  });

  test("by kill -9 of the sidecar leaves no tmux client; its environment was clean", async () => {
    const own = await spawnSidecar();
    try {
      await openTerminal(own.client, "a", "echo up; sleep 60");
      const viewers = await Promise.all([attach(own, "a"), attach(own, "a"), attach(own, "a")]);
      await Promise.all(viewers.map((viewer) => viewer.untilScreen("up")));
      const clients = () =>
        findProcessesOf(own.stateDir).filter(({ command }) => /attach-session.*thread-a/.test(command));
      expect(clients()).toHaveLength(3);
      const names = clients()[0]
        ?.environment.map((entry) => entry.split("=")[0])
        .filter((name) => name !== "");
      expect(names?.toSorted()).toEqual([
        ...["HOME", "LANG", "LOGNAME", "PATH", "PWD", "SHELL", "TERM", "THREADMUX_TEST", "USER"],
      ]);
      await own.kill9();
      await until("the tmux clients to end", () => clients().length === 0);
    } finally {
      await own.close();
    }
  });
});

test("of an agent that rests, nothing is shown until it works again, then its terminal, on the same socket", async () => {
  const own = await startSidecar({ ...STAND_IN_CONFIG, agent: standIn({ idleSeconds: 1 }) });
  try {
    await openAgent(own, "rests", script("Hi", { text: "Hello." }));
    await untilStatus(own, "rests", "idle");
    const hasSession = async () => (await own.folders.tmux("ls", "-F", "#{session_name}")).includes("rests");
    await until("its session to end", async () => !(await hasSession().catch(() => false)));
    const viewer = await attach(own, "rests");
    await until("the tmux client to end", () =>
      findProcessesOf(own.stateDir).every(({ command }) => !/attach-session.*thread-rests/.test(command)),
    );
    await own.client.sendInput("rests", { text: script("More", { text: "Once more." }) });
    await viewer.untilScreen("Once more.");
    expect(viewer.screen()).not.toContain("session");
    await viewer.close();
  } finally {
    await own.close();
  }
});
