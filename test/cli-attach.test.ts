/** The command line as a person or a script uses it, against a real sidecar and real tmux: a person sits at a thread. */
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { buildCli, type Cli } from "./support/cli.ts";
import { signal } from "./support/processes.ts";
import { startSidecar, type TestSidecar } from "./support/sidecar.ts";
import { openTerminal, readAll, untilOutput } from "./support/threads.ts";

// Five tests at a time, each with processes of its own to wait for.
vi.setConfig({ testTimeout: 60_000 });

let sidecar: TestSidecar;
let cli: Cli;

beforeAll(async () => {
  sidecar = await startSidecar({ maxThreads: 100 });
  cli = await buildCli(sidecar);
});
afterAll(() => sidecar?.close());

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
    const size = await folders.tmux(
      "display-message",
      "-p",
      "-t",
      "=thread-attach:",
      "#{window_width}x#{window_height}",
    );
    expect(size).toBe("100x30\n");

    // Only our own client left; the other one is there, and types nothing.
    other.pty.write("not me\r");
    await client.sendInput("attach", { text: "after" });
    await other.untilShown("after");
    other.pty.write("\u0002d");
    expect(await other.end()).toBe(0);
    expect((await readAll(client, "attach")).output).not.toContain("not me");
    expect(await folders.tmux("list-clients", "-t", "=thread-attach", "-F", "#{client_pid}")).toBe("");
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

  test("not on the sidecar's machine: said so", async () => {
    await openTerminal(sidecar.client, "far", "exec cat");
    const { shown, end } = cli.terminal(["attach", "far"], { STATE_DIR: sidecar.folders.home });
    expect(await end()).toBe(5);
    expect(shown()).toMatch(
      /^threadmux: STATE_DIR: there is no .+tmux\.sock; attach works on the sidecar's own machine/,
    );
  });
});

// The last: this stops tmux under everybody's feet.
describe("while tmux hangs", () => {
  test("attach can be left while tmux hangs, and the terminal is put right", async () => {
    await openTerminal(sidecar.client, "hang", "echo ready; exec cat");
    const { pty, shown, untilShown, end } = cli.terminal(["attach", "hang"]);
    await untilShown("ready");
    const tmux = sidecar.folders.tmuxPid();
    signal(tmux, "SIGSTOP");
    try {
      pty.write("\u0002d");
      expect(await end()).toBe(0);
      expect(shown()).toContain("\u001b[?1049l\u001b[?25h");
    } finally {
      signal(tmux, "SIGCONT");
    }
  });
});
