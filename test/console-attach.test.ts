import { writeFileSync } from "node:fs";
import { request } from "node:http";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ACK_EVERY_BYTES, MAX_UNREAD_BYTES } from "../shared/attach.ts";
import { attach, protocolsOf, refusedWith, signIn, type TestViewer } from "./support/console.ts";
import { findProcessesOf } from "./support/processes.ts";
import { spawnSidecar, startSidecar, type TestSidecar } from "./support/sidecar.ts";
import { openTerminal, untilOutput } from "./support/threads.ts";
import { until, untilValue } from "./support/wait.ts";

const SHELL = "PS1='$ ' exec bash --norc --noprofile";

let sidecar: TestSidecar;
beforeAll(async () => {
  sidecar = await startSidecar(
    { maxThreads: 100 },
    { viewersLimits: { maxViewers: 10, stallTimeoutMs: 1_500 } },
  );
});
afterAll(() => sidecar.close());

/** The tmux clients on a thread, without the sidecar's own. */
async function countClients(threadId: string): Promise<number> {
  const clients = await sidecar.folders.tmux("list-clients", "-F", "#{session_name}");
  return clients.split("\n").filter((name) => name === `thread-${threadId}`).length;
}

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
    await until("the tmux client to end", async () => (await countClients("types")) === 0);
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
      expect(findProcessesOf(own.stateDir).filter(({ command }) => /attach-session/.test(command))).toEqual(
        [],
      );
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
        ...["HOME", "LANG", "PATH", "PWD", "SHELL", "TERM", "THREADMUX_TEST"],
      ]);
      await own.kill9();
      await until("the tmux clients to end", () => clients().length === 0);
    } finally {
      await own.close();
    }
  });
});

describe("a slow viewer", () => {
  /** Repaints everything in other colours, as fast as it can. */
  const FLOOD = `while :; do i=$((i+1)); printf '\\033[H'; seq -f "\\033[3$((i%8))mline %.0f $i xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx" 1 99; done`;

  async function keyToEcho(threadId: string): Promise<number> {
    const { offset } = await sidecar.client.getThread(threadId);
    const startedAt = performance.now();
    await sidecar.client.sendInput(threadId, { text: "x", enter: false });
    await sidecar.client.readOutput(threadId, { since: offset, waitMs: 5_000 });
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
      await until("the slow one's window to be full", () => slow.bytes() > MAX_UNREAD_BYTES, {
        timeoutMs: 15_000,
      });
      const from = quick.bytes();
      const echoes: number[] = [];
      for (let i = 0; i < 10; i++) echoes.push(await keyToEcho(`${id}-other`));
      expect(Math.max(...echoes)).toBeLessThan(2_500); // a tmux that is held up does not answer at all
      await until("the quick one to be served all the same", () => quick.bytes() > from);
      expect(await slow.closed).toBe(4408);
      expect(slow.bytes()).toBeLessThan(MAX_UNREAD_BYTES + 128 * 1024);
      await until("its tmux client to end", async () => (await countClients(id)) === 1);
      await quick.close();
      await sidecar.client.killThread(id);
    },
  );

  test("that reads again sees the present, drawn anew", async () => {
    const own = await startSidecar();
    try {
      const flood = `yes "$(printf '\\033[32mgreen%0180d')" & while [ ! -e full ]; do sleep 0.1; done; kill $!; wait; printf '\\033[0m'; clear; echo the-present; sleep 60`;
      // A large picture: to a client that is behind, tmux draws only ten a second.
      await openTerminal(own.client, "a", flood, { cols: 200, rows: 100 });
      const viewer = await attach(own, "a", { query: "?acks=1" });
      await until("its window to be full", () => viewer.bytes() > MAX_UNREAD_BYTES, { timeoutMs: 15_000 });
      writeFileSync(`${own.reposDir}/full`, "");
      await untilOutput(own.client, "a", "the-present");
      const missed = viewer.bytes();
      expect(viewer.screen()).not.toContain("the-present");
      viewer.socket.send(JSON.stringify({ type: "ack", bytes: missed }));
      await viewer.untilScreen("the-present");
      expect(viewer.bytes() - missed).toBeLessThan(ACK_EVERY_BYTES * 4);
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
  }, 90_000);
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
    await until("room", async () => (await countClients("many")) === 0);
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

describe("who may attach", () => {
  let secret = "";
  const named = (value: string) => ({ "sec-websocket-protocol": protocolsOf(value).join(", ") });
  const from = (origin: string) => ({ ...named(secret), origin });
  const own = () => from(sidecar.url);
  beforeAll(async () => {
    secret = (await signIn(sidecar.url, sidecar.token)).secret;
    await openTerminal(sidecar.client, "door", "echo up; sleep 60");
  });

  test("the session's secret with an Origin of this host; the secret is not sent back", async () => {
    const headers = { origin: sidecar.url };
    const viewer = await attach(sidecar, "door", { headers, protocols: protocolsOf(secret) });
    await viewer.untilScreen("up");
    expect(viewer.socket.protocol).toBe("threadmux");
    await viewer.close();
  });

  test.each([
    ["nothing", () => ({})],
    ["a wrong token", () => ({ authorization: "Bearer wrong" })],
    ["a wrong token beside the secret", () => ({ ...own(), authorization: "Bearer wrong" })],
    ["an Origin without the secret", () => ({ origin: sidecar.url })],
    ["a made-up secret", () => ({ ...own(), ...named("A".repeat(43)) })],
    ["the secret without an Origin", () => named(secret)],
    ["the secret from another site", () => from("https://evil.example")],
    ["the secret from another port of this host", () => from("http://127.0.0.1:1")],
    ["the secret from a file", () => from("null")],
    ["the secret in a cookie", () => ({ cookie: `threadmux.session=${secret}`, origin: sidecar.url })],
    ["a request that the browser calls cross-site", () => ({ ...own(), "sec-fetch-site": "cross-site" })],
    ["a name that was rebound to loopback", () => ({ ...from("http://evil.example"), host: "evil.example" })],
  ])("not with %s", async (_what, headers) => {
    expect(await refusedWith(attach(sidecar, "door", { headers: headers() }))).toBe(401);
  });

  test.each(["/threads", "/thread/door", "/thread/door/attach/x", "/thread/%2e%2e/attach", "/", "//["])(
    "no socket is at %s",
    async (path) => {
      expect(await upgradeStatus(path)).toBe(404);
    },
  );

  test("wrong tokens count, as on every route: the twenty-first within a minute waits", async () => {
    const own = await startSidecar();
    try {
      const knock = () => refusedWith(attach(own, "a", { headers: { authorization: "Bearer wrong" } }));
      for (let i = 0; i < 20; i++) expect(await knock()).toBe(401);
      const startedAt = performance.now();
      expect(await knock()).toBe(401);
      expect(performance.now() - startedAt).toBeGreaterThan(1_900);
    } finally {
      await own.close();
    }
  });

  test("an unknown mode is refused in words", async () => {
    expect(await refusedWith(attach(sidecar, "door", { query: "?mode=write" }))).toBe(400);
  });

  async function upgradeStatus(path: string): Promise<number> {
    return new Promise((resolve, reject) => {
      const headers = {
        authorization: `Bearer ${sidecar.token}`,
        connection: "Upgrade",
        upgrade: "websocket",
        "sec-websocket-version": "13",
        "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
      };
      request(`${sidecar.url}${path}`, { headers })
        .on("response", (reply) => {
          reply.resume();
          resolve(reply.statusCode ?? 0);
        })
        .on("upgrade", (_reply, socket) => {
          socket.destroy();
          resolve(101);
        })
        .on("error", reject)
        .end();
    });
  }
});
