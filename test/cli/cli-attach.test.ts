/** The command line as a person or a script uses it, against a real sidecar and real tmux: a person sits at a thread. */
import { mkdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { openAgent, STAND_IN_CONFIG, script } from "../support/agents.ts";
import { buildCli, type Cli } from "../support/cli.ts";
import { signal } from "../support/processes.ts";
import { startProxy } from "../support/proxy.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { openTerminal, readAll, untilOutput } from "../support/threads.ts";
import { until } from "../support/wait.ts";

// Five tests at a time, each with processes of its own to wait for.
vi.setConfig({ testTimeout: 60_000 });

let sidecar: TestSidecar;
let cli: Cli;

beforeAll(async () => {
  sidecar = await startSidecar(STAND_IN_CONFIG);
  cli = await buildCli(sidecar);
});
afterAll(() => sidecar?.close());

const WINDOW_SIZE = "#{window_width}x#{window_height}";

/** Sizes and modes of the tmux clients on a thread. */
async function clientsOf(threadId: string): Promise<string[]> {
  const format = "#{client_width}x#{client_height} #{?client_readonly,read-only,}";
  const clients = await sidecar.folders.tmux("list-clients", "-t", `=thread-${threadId}`, "-F", format);
  return clients.split("\n").filter((line) => line !== "");
}

describe.concurrent("attach", () => {
  test("type, see it, leave by C-b d: the session goes on, its size too", async () => {
    const { client, folders } = sidecar;
    await openTerminal(client, "attach", "stty -echo -isig; echo ready; exec cat -v", {
      cols: 100,
      rows: 30,
    });
    await untilOutput(client, "attach", "ready");
    const other = cli.terminal(["attach", "attach", "--read-only"]);
    const { pty, shown, untilShown, end } = cli.terminal(["attach", "att"], { NO_COLOR: "1" });
    await untilShown("[attach: C-b d leaves it running]");
    await untilShown("ready");
    await other.untilShown("ready");
    pty.write("hello\u0002\u0002 \u0002x\u001c\r");
    await untilOutput(client, "attach", "hello^B ^Bx^\\\r\n");
    await untilShown("hello^B ^Bx");
    pty.resize(60, 20);
    pty.write("\u0002d");
    expect(await end()).toBe(0);
    // The person's own screen is back, and says how to return.
    const afterwards = shown().split("\u001b[?1049l").at(-1);
    expect(afterwards).toContain("[attach: goes on; threadmux attach attach comes back]\r\n");
    expect(await client.getThread("attach")).toMatchObject({ status: "running", cols: 100, rows: 30 });
    const size = await folders.tmux("list-windows", "-t", "=thread-attach", "-F", WINDOW_SIZE);
    expect(size).toBe("100x30\n");

    // Only our own client left; the other one is there, and types nothing.
    other.pty.write("not me\r");
    await client.sendInput("attach", { text: "after" });
    await other.untilShown("after");
    other.pty.write("\u0002d");
    expect(await other.end()).toBe(0);
    expect((await readAll(client, "attach")).output).not.toContain("not me");
    await until("nobody to sit there", async () => (await clientsOf("attach")).length === 0);
  });

  test("other keys, a signal and the process's end leave too", async () => {
    const { client } = sidecar;
    await openTerminal(client, "leave", "stty -echo; echo ready; read line; exit 5");
    await untilOutput(client, "leave", "ready");
    const keys = cli.terminal(["attach", "leave", "--detach-keys", "C-]"]);
    await keys.untilShown("ready");
    keys.pty.write("\u001d");
    expect(await keys.end()).toBe(0);

    const signalled = cli.terminal(["attach", "leave"]);
    await signalled.untilShown("ready");
    signal(signalled.pty.pid, "SIGTERM");
    expect(await signalled.end()).toBe(0);
    expect(signalled.shown()).toContain("leave: goes on");

    const last = cli.terminal(["attach", "leave"]);
    await last.untilShown("ready");
    last.pty.write("bye\r");
    expect(await last.end()).toBe(0);
    expect(last.shown()).toMatch(/\[leave: ended with exit code 5\]\r\n$/);
    const ended = cli.terminal(["attach", "leave"]);
    expect(await ended.end()).toBe(4);
    expect(ended.shown()).toContain("threadmux tail leave");
  });

  test("new --attach has the terminal's size; without a terminal it is refused before anything is made", async () => {
    const { client } = sidecar;
    const { pty, untilShown, end } = cli.terminal([
      "new",
      ".",
      "--attach",
      "--id",
      "sit",
      "--",
      "stty size; exec cat",
    ]);
    await untilShown("24 80");
    pty.write("\u0002d");
    expect(await end()).toBe(0);
    expect(await client.getThread("sit")).toMatchObject({ cols: 80, rows: 24, status: "running" });
    const piped = await cli.run(["new", ".", "--attach", "--id", "stand", "--", "true"]);
    expect(piped).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^threadmux: attach: needs a terminal.+\n$/),
    });
    await expect(client.getThread("stand")).rejects.toMatchObject({ code: "not_found" });
  });

  test("run --attach: left, it goes on; ended, it has its exit code and leaves nothing open", async () => {
    const { client } = sidecar;
    const command = 'stty size; while read -r line; do echo "got $line"; [ $line != end ] || exit 7; done';
    const left = cli.terminal(["run", "--attach", ".", "--title", "stays", "--discord", "--", command]);
    await left.untilShown("24 80");
    left.pty.write("\u0002d");
    expect(await left.end()).toBe(0);
    const [thread] = (await client.listThreads()).filter(({ title }) => title === "stays");
    expect(thread).toMatchObject({ status: "running", type: "terminal", home: { channelId: null } });
    await client.killThread(thread?.threadId ?? "");

    const sat = cli.terminal([
      "run",
      "--attach",
      ".",
      "--title",
      "ends",
      "--detach-keys",
      "C-]",
      "--",
      command,
    ]);
    await sat.untilShown("24 80");
    sat.pty.write("end\r");
    expect(await sat.end()).toBe(7);
    const after = sat.shown().split("\u001b[?1049l").at(-1);
    expect(after).toMatch(
      /got end\r\n.*\[(\S+): ended with exit code 7; all of its output: threadmux log \1\]\r\n$/s,
    );
    const over = (await client.listThreads({ status: "ended" })).find(({ title }) => title === "ends");
    expect(over?.status).toBe("killed");
  });

  test("a command that is over before anybody sits at it is shown all the same", async () => {
    const { shown, end } = cli.terminal([
      "run",
      "--attach",
      ".",
      "--",
      "sh",
      "-c",
      "echo one; echo two; exit 3",
    ]);
    expect(await end()).toBe(3);
    expect(shown()).toMatch(/one\r\ntwo\r\n.*ended with exit code 3/s);
    const { client } = sidecar;
    const fast = cli.terminal(["new", ".", "--attach", "--id", "fast", "--", "exit 4"]);
    expect(await fast.end()).toBe(4);
    expect(await client.getThread("fast")).toMatchObject({ status: "exited", exitCode: 4 });
  });

  test("here: in the directory of the shell, and nowhere that the sidecar does not see", async () => {
    const { client, folders } = sidecar;
    const place = join(folders.reposDir, "right here");
    mkdirSync(place);
    const run = cli.terminal(["here", "--", "sh", "-c", 'pwd; exit "$1"', "sh", "5"], {}, place);
    expect(await run.end()).toBe(5);
    expect(run.shown()).toContain(place);

    const shell = cli.terminal(["here"], { SHELL: "/bin/sh" }, place);
    await shell.untilShown("\u001b[2J"); // the first picture: from here on, keys go in
    shell.pty.write("echo $((6*7))\r");
    await shell.untilShown("42");
    shell.pty.write("\u0002d");
    expect(await shell.end()).toBe(0);
    const [thread] = (await client.listThreads()).filter(({ dir }) => dir === "right here");
    expect(thread).toMatchObject({ status: "running", command: "/bin/sh" });
    await client.killThread(thread?.threadId ?? "");

    const outside = cli.terminal(["here", "--", "true"], {}, folders.home);
    expect(await outside.end()).toBe(2);
    expect(outside.shown()).toMatch(
      /^threadmux: dir: ".+" is outside of the repositories' folder; here works on the sidecar's own machine/,
    );
    // The same path on another machine is another directory.
    const { dev, ino, birthtimeNs } = statSync(place, { bigint: true });
    for (const dirId of [`${dev + 1n}:${ino}:${birthtimeNs}`, `${dev}:${ino}:${birthtimeNs + 1n}`]) {
      const request = { threadId: "there", type: "terminal", dir: place, dirId, command: "true" } as const;
      await expect(client.createThread(request)).rejects.toMatchObject({
        code: "invalid_directory",
        message: expect.stringContaining("is another directory on the sidecar's machine than on yours"),
      });
    }
  });

  test("to stay is refused in words before anything is made", async () => {
    const named = ["--title", "refused"];
    const said: [string[], RegExp][] = [
      [["run", "."], /run: needs either --agent or --attach/],
      [["run", "--agent", "--attach", "."], /run: needs either --agent or --attach/],
      [["run", "--attach", "--model", "opus", "."], /--model: only with --agent/],
      [["run", "--attach", "--verbose", "."], /--verbose: only with --agent/],
      [["run", "--agent", "--discord", "."], /--discord: only with --attach/],
      [["run", "--agent", "--detach-keys", "C-]", "."], /--detach-keys: only with --attach/],
      [["run", "--attach", "--json", "."], /--json: not with --attach, which is for a person/],
      [["run", "--attach", "."], /--attach: needs a terminal; in a pipe, use new --follow/],
      [["here", "--json"], /--json: not with here, which is for a person/],
      [["here"], /here: needs a terminal; in a pipe, use new --follow/],
    ];
    for (const [args, stderr] of said)
      expect(await cli.call([...args, ...named, "--", "true"])).toMatchObject({
        code: 2,
        stderr: expect.stringMatching(stderr),
      });
    const atTerminal: [number, string[], RegExp, Record<string, string>][] = [
      [2, ["run", "--attach", "--detach-keys", "Nope", "."], /--detach-keys: "Nope" is no key/, {}],
      [2, ["run", "--attach", ".."], /dir: ".." is outside/, {}],
      [5, ["here"], /^threadmux: The sidecar at .+ does not answer/, { VM_URL: "http://127.0.0.1:1" }],
    ];
    for (const [code, args, expected, env] of atTerminal) {
      const { shown, end } = cli.terminal([...args, ...named, "--", "true"], env);
      expect(await end()).toBe(code);
      expect(shown()).toMatch(expected);
    }
    const made = await sidecar.client.listThreads({ status: "all" });
    expect(made.map(({ title }) => title)).not.toContain("refused");
  });

  test("from another machine: an address and a token are enough", async () => {
    const { client, folders } = sidecar;
    await openTerminal(client, "far", "stty -echo; echo ready; cat");
    const proxy = await startProxy(Number(new URL(sidecar.url).port));
    const tokenFile = join(folders.home, "token");
    writeFileSync(tokenFile, sidecar.token, { mode: 0o600 });
    // No tmux in its PATH, no state folder, nothing of the sidecar's environment.
    const elsewhere = { PATH: "/nowhere", STATE_DIR: "", VM_URL: "", VM_TOKEN: "", COLORTERM: "truecolor" };
    const args = ["attach", "far", "--url", proxy.url, "--token-file", tokenFile];
    try {
      const { pty, untilShown, end } = cli.terminal(args, elsewhere);
      await untilShown("ready");
      pty.write("typed far away\r");
      await untilShown("typed far away");
      pty.write("\u0002d");
      expect(await end()).toBe(0);
    } finally {
      await proxy.close();
    }
  });

  test("the picture has the size of the person's terminal, through any number of resizes", async () => {
    const { client, folders } = sidecar;
    await openTerminal(client, "fit", "stty -echo; echo ready; cat", { cols: 100, rows: 30 });
    const { pty, shown, untilShown, end } = cli.terminal(["attach", "fit"]);
    await untilShown("ready");
    expect(await clientsOf("fit")).toEqual(["80x24 "]);
    for (let i = 0; i < 300; i++) pty.resize(20 + (i % 280), 5 + (i % 95));
    pty.resize(140, 50);
    await until("tmux to draw as large", async () => (await clientsOf("fit"))[0] === "140x50 ");
    pty.write("still here\r");
    await untilShown("still here");
    expect(await folders.tmux("list-windows", "-t", "=thread-fit", "-F", WINDOW_SIZE)).toBe("100x30\n");
    pty.write("\u0002d");
    expect(await end()).toBe(0);
    expect(shown()).not.toContain("Waiting");
  });

  test("what is typed just before leaving goes in, every time", async () => {
    const { client } = sidecar;
    await openTerminal(client, "hasty", "stty -echo; echo ready; cat");
    for (let i = 0; i < 8; i++) {
      const { pty, untilShown, end } = cli.terminal(["attach", "hasty"]);
      await untilShown("ready");
      pty.write(`hasty ${i}.\r\u0002d`);
      expect(await end()).toBe(0);
      await untilOutput(client, "hasty", `hasty ${i}.\r\n`);
    }
  });

  test("much output is followed to its end; a flood without end is left at once", async () => {
    const { client } = sidecar;
    await openTerminal(
      client,
      "much",
      "read; seq 1 200000; echo the-end; read; while :; do seq -s. 1 2000; done",
    );
    const { pty, shown, untilShown, end } = cli.terminal(["attach", "much"]);
    await untilShown("\u001b[?1049h");
    pty.write("\r");
    await untilShown("the-end");
    const before = shown().length;
    pty.write("\r");
    await until("a good part of it", () => shown().length > before + 40_000);
    pty.write("\u0002d");
    expect(await end()).toBe(0);
    expect(shown()).toMatch(/\[much: goes on; threadmux attach much comes back\]\r\n$/);
    await client.killThread("much");
  });

  test("an agent's thread shows its runner", async () => {
    await openAgent(sidecar, "robot", script("hello", { text: "Good morning." }));
    const { pty, untilShown, end } = cli.terminal(["attach", "robot", "--read-only"]);
    await untilShown("Good morning.");
    pty.write("\u0002d");
    expect(await end()).toBe(0);
  });

  test("what goes wrong at first has its exit code and leaves the terminal alone", async () => {
    const attempts: [number, string, Record<string, string>, RegExp][] = [
      [3, "nobody", {}, /^threadmux: thread: no id, number or title fits "nobody"/],
      [2, "any", { VM_TOKEN: "w".repeat(40) }, /^threadmux: A valid token is needed/],
      [5, "any", { VM_URL: "http://127.0.0.1:1" }, /^threadmux: The sidecar at .+ does not answer/],
    ];
    for (const [code, thread, env, expected] of attempts) {
      const { shown, end } = cli.terminal(["attach", thread], env);
      expect(await end()).toBe(code);
      expect(shown()).toMatch(expected);
      expect(shown()).not.toContain("\u001b");
    }
  });
});
