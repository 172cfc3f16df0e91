/** The command line as a person or a script uses it, against a real sidecar and real tmux. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import {
  errorReplySchema,
  healthReplySchema,
  killReplySchema,
  listReplySchema,
  outputReplySchema,
  screenReplySchema,
  threadSchema,
} from "../shared/api.ts";
import { script, standIn } from "./support/agents.ts";
import { buildCli, type Cli } from "./support/cli.ts";
import { signal } from "./support/processes.ts";
import { startSidecar, type TestSidecar } from "./support/sidecar.ts";
import { openTerminal, readAll, untilEnded, untilOutput } from "./support/threads.ts";
import { until } from "./support/wait.ts";

// Five tests at a time, each with processes of its own to wait for.
vi.setConfig({ testTimeout: 60_000 });

let sidecar: TestSidecar;
let cli: Cli;

beforeAll(async () => {
  sidecar = await startSidecar({ maxThreads: 100, agent: standIn() });
  mkdirSync(join(sidecar.reposDir, "shop"));
  cli = await buildCli(sidecar);
});
afterAll(() => sidecar?.close());

/** Its standard output, where it did what it should. */
async function ok(...args: string[]): Promise<string> {
  const result = await cli.call(args);
  expect(result).toMatchObject({ code: 0, stderr: "" });
  return result.stdout;
}

/** As {@link ok}, by a process of its own. */
async function done(...args: string[]): Promise<string> {
  const result = await cli.run(args);
  expect(result).toMatchObject({ code: 0, stderr: "" });
  return result.stdout;
}

async function json(...args: string[]): Promise<unknown> {
  const stdout = await ok("--json", ...args);
  expect(stdout.endsWith("\n") && stdout.indexOf("\n") === stdout.length - 1, stdout).toBe(true);
  return JSON.parse(stdout);
}

describe.concurrent("new and ls", () => {
  test("a thread is opened, listed by its start, and ended", async () => {
    const id = (await done("new", "shop", "--", "echo ready; exec cat")).trim();
    expect(id).toMatch(/^shop-[2-9a-z]{5}$/);
    const thread = await sidecar.client.getThread(id);
    expect(thread).toMatchObject({ type: "terminal", dir: "shop", command: "echo ready; exec cat" });
    expect(thread.createdBy).toMatch(/^cli:./);

    const line = (await done("ls")).split("\n").find((each) => each.startsWith(id));
    expect(line?.split("\t")).toEqual([
      id,
      "shop — echo ready; exec cat",
      "terminal",
      "running",
      "shop",
      expect.stringMatching(/^\d+[sm]$/),
      "echo ready; exec cat",
    ]);
    const { threads } = listReplySchema.parse(await json("ls"));
    expect(threads.map(({ threadId }) => threadId)).toContain(id);

    await untilOutput(sidecar.client, id, "ready");
    expect(await done("kill", id)).toBe(`ready\nkilled ${id}, exit code 143\n`);
    expect(await ok("ls")).not.toContain(id);
    expect(await ok("ls", "--status", "ended")).toContain(
      `${id}\tshop — echo ready; exec cat\tterminal\tkilled`,
    );
  });

  test("several words are a program's arguments as they are, one word a command line", async () => {
    const words = ["printf", "<%s>", "a b", "c'd", "$HOME", "x;y", ""];
    await ok("new", ".", "--id", "words", "--", ...words);
    expect((await untilEnded(sidecar.client, "words")).output).toBe("<a b><c'd><$HOME><x;y><>");
    expect(await json("new", ".", "--id", "line", "--size", "100x30", "--", "stty size | tr ' ' x")).toEqual({
      created: true,
      threadId: "line",
      tmuxSession: "thread-line",
    });
    expect((await untilEnded(sidecar.client, "line")).output).toBe("30x100\r\n");
  });

  test("--follow prints what the process prints and exits as it does", async () => {
    const { code, stdout, stderr } = await cli.run(["new", "shop", "-f", "--", "printf 'one\\ntwo'; exit 7"]);
    expect({ code, stdout }).toEqual({ code: 7, stdout: "one\r\ntwo" });
    expect(stderr).toMatch(/^thread shop-\w{5}\n$/);
  });

  test("an agent gets a prompt, and standard input as one message", async () => {
    const prompt = script("hello there", { text: "Hello to you." });
    const { code, stdout } = await cli.run(["new", "--agent", "shop", "--id", "bot", "-f", "--", prompt]);
    expect(code).toBe(0);
    expect(stdout).toContain("Hello to you.");
    const bytes = Buffer.from("not \xff text", "latin1");
    const refused = await cli.call(["send", "bot", "-"], { input: bytes });
    expect(refused).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("line 1: must be UTF-8 (nothing"),
    });
    const lines = `several\nlines ${script("", { text: "I have read both." })}`;
    expect((await cli.run(["send", "bot", "-"], { input: lines })).code).toBe(0);
    const again = await cli.call(["tail", "-f", "-n", "20", "bot"]);
    expect(again).toMatchObject({ code: 0, stdout: expect.stringContaining("I have read both.") });
  });

  test("nothing in a table acts on the terminal or goes beyond its width", async () => {
    const command = `: '\u001b]0;pwned\u0007 \u202e \u009b31m 漢字漢字漢字漢字漢字漢字 ${"long ".repeat(40)}\n'; exec cat`;
    await openTerminal(sidecar.client, "table-with-the-longest-of-ids-32", command);
    const plain = cli.terminal(["ls", "--status", "all"], { NO_COLOR: "1" });
    expect(await plain.end()).toBe(0);
    const lines = plain.shown().split("\r\n");
    expect(lines[0]).toMatch(/^ID +TITLE +TYPE +STATUS +DIR +UPTIME/);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: that is the point
    for (const line of lines) expect(line).not.toMatch(/[\x00-\x1f\x7f-\x9f\u202e]/);
    for (const line of lines) expect(line.replace(/[漢字]/g, "##").length).toBeLessThanOrEqual(80);
    expect(plain.shown()).toMatch(/table-with-the-longest-of-ids-32 {2}: .*… {2}terminal {2}running/);

    const colored = cli.terminal(["ls"]);
    await colored.end();
    expect(colored.shown()).toContain("\u001b[32mrunning");
    const piped = await ok("ls");
    // biome-ignore lint/suspicious/noControlCharactersInRegex: that is the point
    expect(piped).not.toMatch(/[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]/);
    const raw = await ok("ls", "--json");
    // biome-ignore lint/suspicious/noControlCharactersInRegex: that is the point
    expect(raw.trimEnd()).not.toMatch(/[\x00-\x1f\x7f-\x9f\u202e]/);
    expect(listReplySchema.parse(JSON.parse(raw)).threads.map((each) => each.command)).toContain(command);
  });
});

describe.concurrent("which thread", () => {
  test("a whole id, its start where that fits one, open ones before ended ones", async () => {
    const { client } = sidecar;
    for (const id of ["pre-one", "pre-two", "pre"]) await openTerminal(client, id, "exec cat");
    expect(threadSchema.parse(await json("status", "pre")).threadId).toBe("pre");
    expect(threadSchema.parse(await json("status", "pre-o")).threadId).toBe("pre-one");
    const ambiguous = await cli.call(["kill", "pre-"]);
    expect(ambiguous).toMatchObject({ code: 2, stdout: "" });
    expect(ambiguous.stderr).toMatch(
      /^threadmux: thread: "pre-" is the start of several ids: pre-two, pre-one\n$|pre-one, pre-two\n$/,
    );
    await client.killThread("pre-two");
    expect(threadSchema.parse(await json("status", "pre-")).threadId).toBe("pre-one");

    const unknown = await cli.call(["tail", "nobody"]);
    expect(unknown).toMatchObject({ code: 3, stdout: "" });
    expect(unknown.stderr).toMatch(/^threadmux: thread: no id is or starts with "nobody"; open are .+\n$/);
    expect(await cli.call(["kill", ""])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("thread: "),
    });
  });

  test("kill ends nothing where one argument is wrong, and says how each one went", async () => {
    const { client } = sidecar;
    for (const id of ["kill-1", "kill-2", "kill-3"])
      await openTerminal(client, id, `echo I am ${id}; exec cat`);
    for (const id of ["kill-1", "kill-2"]) await untilOutput(client, id, `I am ${id}`);
    expect((await cli.call(["kill", "kill-1", "nobody"])).code).toBe(3);
    expect((await client.getThread("kill-1")).status).toBe("running");
    await client.killThread("kill-3");

    const result = await cli.run(["kill", "kill-1", "kill-2", "kill-3", "--json"]);
    expect(result.code).toBe(4);
    expect(result.stderr).toContain("kill-3");
    const { killed, failed } = JSON.parse(result.stdout) as {
      killed: { threadId: string }[];
      failed: unknown[];
    };
    expect(killed.map(({ threadId }) => threadId)).toEqual(["kill-1", "kill-2"]);
    for (const reply of killed) expect(killReplySchema.parse(reply)).toMatchObject({ survivors: 0 });
    expect(failed).toMatchObject([{ threadId: "kill-3", code: "thread_ended" }]);
  });
});

describe.concurrent("send, screen, resize, status", () => {
  test("text, no Enter, keys", async () => {
    const { client } = sidecar;
    await openTerminal(client, "send", "stty -echo; echo go; cat -v");
    await untilOutput(client, "send", "go");
    await ok("send", "send", "--", "-la", "two  words", "ü");
    await untilOutput(client, "send", "-la two  words M-CM-<\r\n");
    await ok("send", "send", "--no-enter", "half");
    await ok("send", "send", "--key", "x", "--key", "Enter", "--key", "C-d");
    expect((await untilEnded(client, "send")).output).toContain("halfx\r\n");
    const late = await cli.call(["send", "send", "more"]);
    expect(late).toMatchObject({ code: 4, stderr: expect.stringContaining("send") });
  });

  test("standard input, line by line in its order; a line that is refused is named", async () => {
    const { client } = sidecar;
    await openTerminal(client, "lines", "stty -echo; echo go; cat -v");
    await untilOutput(client, "lines", "go");
    const lines = Array.from({ length: 20 }, (_, i) => `line ${i}`);
    const sent = await cli.call(["send", "lines", "-", "--json"], { input: lines.join("\r\n") });
    expect(JSON.parse(sent.stdout)).toEqual({ sent: true, threadId: "lines", inputs: 20 });
    await untilOutput(client, "lines", `${lines.join("\r\n")}\r\n`);

    const long = await cli.call(["send", "lines", "-"], { input: `fits\n${"x".repeat(5_000)}\nnever\n` });
    expect(long.code).toBe(4);
    expect(long.stderr).toMatch(
      /^threadmux: standard input, line 2: text: .+ \(the lines before it were sent\)\n$/,
    );
    const bytes = Buffer.from("\xef\xbb\xbfgood\nnot \xe9 text\nnever\n", "latin1");
    expect(await cli.call(["send", "lines", "-"], { input: bytes })).toEqual({
      code: 2,
      stdout: "",
      stderr: "threadmux: standard input, line 2: must be UTF-8 (the lines before it were sent)\n",
    });
    await client.sendInput("lines", { key: "C-d" });
    expect((await untilEnded(client, "lines")).output).toMatch(/\nfits\r\ngood\r\n$/);
  });

  test("the screen as text, with colours, as JSON", async () => {
    const { client } = sidecar;
    await openTerminal(client, "screen", "printf '\\033[31mred\\033[0m\\n  two\\n'; exec cat");
    await untilOutput(client, "screen", "two");
    expect(await ok("screen", "screen")).toBe("red\n  two\n");
    expect(await ok("screen", "screen", "--ansi")).toContain("\u001b[31mred");
    const reply = screenReplySchema.parse(await json("screen", "screen"));
    expect(reply).toMatchObject({ cols: 80, rows: 24, cursor: { x: 0, y: 2 }, alternate: false });
  });

  test("another size, and all about a thread", async () => {
    const { client } = sidecar;
    await openTerminal(client, "size", "exec cat");
    const size = { cols: 100, rows: 30 };
    expect(await json("resize", "size", "100x30")).toEqual({ resized: true, threadId: "size", ...size });
    expect(await client.getScreen("size")).toMatchObject(size);
    expect(await ok("status", "size")).toMatch(/^thread {5}size\n(?:.+\n)+size {7}100x30\n$/);
  });

  test("health needs no token", async () => {
    const { stdout, code } = await cli.call(["health", "--json"], {
      env: { VM_TOKEN: "", STATE_DIR: "/nowhere" },
    });
    expect(code).toBe(0);
    expect(healthReplySchema.parse(JSON.parse(stdout)).ok).toBe(true);
    expect(await ok("status")).toMatch(/^sidecar {4}ok, version .+\nup for .+\ntmux {7}tmux .+\n$/);
  });
});

describe.concurrent("tail and log", () => {
  test("the last lines, also far back and among bytes that are no text", async () => {
    const { client } = sidecar;
    await openTerminal(client, "tail", "seq 1 30000; printf '\\377\\376é\\n\\033[1mlast\\033[0m\\n'");
    await untilEnded(client, "tail");
    const { output } = await readAll(client, "tail");
    expect(await ok("tail", "tail")).toBe(`${output.split("\n").slice(-11, -1).join("\n")}\n`);
    for (const count of [0, 1, 12_000, 30_002]) {
      const lines = output.split("\n").slice(0, -1);
      const expected = count === 0 ? [] : lines.slice(-count);
      expect(await ok("tail", "-n", String(count), "tail"), `-n ${count}`).toBe(
        expected.map((line) => `${line}\n`).join(""),
      );
    }
    expect(await ok("tail", "-n", "all", "tail")).toBe(output);
  });

  test("as text and as JSON", async () => {
    const { client } = sidecar;
    await openTerminal(client, "forms", "printf 'one\\n\\377\\376é\\n\\033[1mlast\\033[0m\\n'");
    await untilEnded(client, "forms");
    expect(await ok("tail", "-n", "2", "--text", "forms")).toBe("\ufffd\ufffdé\nlast\n");
    const reply = outputReplySchema.parse(await json("tail", "-n", "1", "forms"));
    expect(reply).toMatchObject({ output: "\u001b[1mlast\u001b[0m\r\n", processRunning: false, exitCode: 0 });
  });

  test("-f follows to the end and exits as the process does", async () => {
    const { client } = sidecar;
    await openTerminal(client, "follow", "echo one; read line; echo got $line; exit 9");
    await untilOutput(client, "follow", "one");
    const plain = cli.start(["tail", "-f", "follow"]);
    const lines = cli.start(["tail", "-f", "follow", "--json", "--text"]);
    const replies: string[] = [];
    createInterface({ input: lines.stdout! }).on("line", (line) => replies.push(line));
    let shown = "";
    plain.stdout!.on("data", (data) => {
      shown += data;
    });
    const ends = Promise.all([once(plain, "close"), once(lines, "close")]);
    await until("both to have shown the first line", () => shown.includes("one") && replies.length > 0);
    await client.sendInput("follow", { text: "it" });
    expect((await ends).map(([code]) => code)).toEqual([9, 9]);
    expect(shown).toBe("one\r\nit\r\ngot it\r\n");
    const parsed = replies.map((line) => outputReplySchema.parse(JSON.parse(line)));
    expect(parsed.map(({ output }) => output).join("")).toBe("one\nit\ngot it\n");
    expect(parsed.at(-1)).toMatchObject({ processRunning: false, exitCode: 9 });

    await openTerminal(client, "dies", "kill -9 $$");
    expect((await cli.call(["tail", "-f", "dies"])).code).toBe(137);
  });

  test("Ctrl-C ends -f with 130 and leaves the process alone and the terminal clean", async () => {
    const { client } = sidecar;
    await openTerminal(
      client,
      "ctrl-c",
      "stty -echo; printf '\\033[?25l\\033[?1000h\\033[6n\\033]52;c;cHduZWQ=\\007here'; exec cat",
    );
    await untilOutput(client, "ctrl-c", "here");
    const { pty, shown, untilShown, end } = cli.terminal(["tail", "-f", "ctrl-c"]);
    await untilShown("here");
    pty.write("\u0003");
    expect(await end()).toBe(130);
    // Hidden cursor and its return; the mouse, the question and the clipboard never came through.
    expect(shown().replace("^C", "")).toBe("\u001b[?25lhere\u001b[?25h\u000f\u001b(B\u001b[0m");
    expect((await client.getThread("ctrl-c")).processRunning).toBe(true);
  });

  test("the log byte for byte, as text, and into a file that is whole or not there", async () => {
    const { client, folders } = sidecar;
    await openTerminal(client, "log", "printf '\\377\\033[1mbold\\033[0m\\n'; seq 1 20000");
    await untilEnded(client, "log");
    const bytes = readFileSync(join(sidecar.stateDir, "logs/log.log"));
    const file = join(folders.home, "out.log");
    writeFileSync(file, "old");
    expect(await json("log", "log", "-o", file)).toEqual({ threadId: "log", file, bytes: bytes.length });
    expect(readFileSync(file).equals(bytes)).toBe(true);
    const child = cli.start(["log", "log"]);
    const chunks: Buffer[] = [];
    child.stdout!.on("data", (chunk: Buffer) => chunks.push(chunk));
    expect((await once(child, "close"))[0]).toBe(0);
    expect(Buffer.concat(chunks).equals(bytes)).toBe(true);
    expect(await ok("log", "log", "--text")).toMatch(/^\ufffdbold\n1\n2\n/);
    const none = join(folders.home, "no/such/file");
    const missing = await cli.call(["log", "log", "-o", none]);
    expect(missing).toMatchObject({ code: 2, stderr: expect.stringMatching(/^threadmux: --output: .+\n$/) });
  });

  test.each([
    ["SIGINT", 130],
    ["SIGTERM", 143],
  ] as const)("%s in the midst of a file leaves nothing of it, exit code %i", async (name, code) => {
    await openTerminal(sidecar.client, `cut-${code}`, "true");
    await untilEnded(sidecar.client, `cut-${code}`);
    truncateSync(join(sidecar.stateDir, `logs/cut-${code}.log`), 1024 * 1024 * 1024);
    const folder = join(sidecar.folders.home, name);
    mkdirSync(folder);
    const child = cli.start(["log", `cut-${code}`, "-o", join(folder, "big.log")]);
    const ended = once(child, "close");
    await until("the file's beginning", () => readdirSync(folder).length > 0);
    child.kill(name);
    expect(await ended).toEqual([code, null]);
    expect(readdirSync(folder)).toEqual([]);
  });

  test("a log of any size takes little memory", async () => {
    const { client } = sidecar;
    await openTerminal(client, "big", "true");
    await untilEnded(client, "big");
    const size = 160 * 1024 * 1024;
    truncateSync(join(sidecar.stateDir, "logs/big.log"), size);
    const child = cli.start(["log", "big"]);
    let received = 0;
    let peakKilobytes = 0;
    child.stdout!.on("data", (chunk: Buffer) => {
      received += chunk.length;
      // Its highest so far, looked at where nearly all has gone through it.
      if (peakKilobytes === 0 && received > 0.95 * size) {
        const status = readFileSync(`/proc/${child.pid}/status`, "utf8");
        peakKilobytes = Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]);
      }
    });
    expect((await once(child, "close"))[0]).toBe(0);
    expect(received).toBe(size);
    expect(peakKilobytes).toBeGreaterThan(0);
    expect(peakKilobytes).toBeLessThan(190 * 1024);
  });

  test("a reader that has enough is no error", async () => {
    await openTerminal(sidecar.client, "pipe", "true");
    await untilEnded(sidecar.client, "pipe");
    truncateSync(join(sidecar.stateDir, "logs/pipe.log"), 4 * 1024 * 1024);
    for (const command of ["log pipe", "tail -n all pipe"]) {
      const script = `"$0" "$1" ${command} | head -c 1 >/dev/null; echo "\${PIPESTATUS[0]}"`;
      const shell = spawn("bash", ["-c", script, process.execPath, cli.file], { env: cli.env });
      const [stdout, stderr] = await Promise.all([text(shell.stdout), text(shell.stderr)]);
      expect({ command, stdout, stderr }).toEqual({ command, stdout: "0\n", stderr: "" });
    }
  });
});

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

describe.concurrent("what goes wrong", () => {
  const refusals: [string, number, string[], Record<string, string>, RegExp][] = [
    ["an unknown command", 2, ["lss"], {}, /unknown command 'lss' \(Did you mean ls\?\)/],
    [
      "an unknown option",
      2,
      ["new", ".", "ls", "-la"],
      {},
      /unknown option '-la'; what belongs to the thread goes after --/,
    ],
    ["a token on the command line", 2, ["ls", "--token", "x"], {}, /unknown option '--token'/],
    ["a missing argument", 2, ["kill"], {}, /missing required argument 'thread'/],
    ["a size that no terminal has", 2, ["resize", "t", "1x1"], {}, /^threadmux: size: /],
    ["half a line count", 2, ["tail", "-n", "1.5", "t"], {}, /^threadmux: --lines: /],
    ["nothing to send", 2, ["send", "t"], {}, /^threadmux: text: missing/],
    ["a bad choice", 2, ["ls", "--status", "some"], {}, /--status.+Allowed choices are open, ended, all/],
    ["a bad address", 2, ["ls"], { VM_URL: "ftp://x" }, /VM_URL: must be/],
    ["no token", 2, ["ls"], { VM_TOKEN: "", STATE_DIR: "/nowhere" }, /VM_TOKEN: missing.+\/nowhere\/token/],
    ["a short token", 2, ["ls"], { VM_TOKEN: "short" }, /VM_TOKEN: must be/],
    ["a wrong token", 2, ["ls"], { VM_TOKEN: "w".repeat(40) }, /token/],
    ["a token file that is not there", 2, ["ls", "--token-file", "no"], {}, /--token-file: can't be read/],
    ["a bad directory", 2, ["new", "../..", "--", "true"], {}, /^threadmux: dir: /],
    ["a bad id", 2, ["new", ".", "--id", "a b", "--", "true"], {}, /^threadmux: --id: /],
    ["a Discord id", 2, ["new", ".", "--id", "123456789012345678", "--", "true"], {}, /^threadmux: --id: /],
    ["an unknown thread", 3, ["screen", "nobody"], {}, /thread: no id is or starts with "nobody"/],
    ["a sidecar that is not there", 5, ["ls"], { VM_URL: "http://127.0.0.1:1" }, /does not answer/],
  ];
  test.each(refusals)("%s: exit code %i", async (_what, code, args, env, expected) => {
    const plain = await cli.call(args, { env });
    expect(plain).toMatchObject({ code, stdout: "" });
    expect(plain.stderr).toMatch(expected);
    expect(plain.stderr).toMatch(/^threadmux: [^\n]+\n$/);
  });

  test.each([
    ["invalid_request", 2, ["--json", "lss"], {}],
    ["invalid_request", 2, ["--json"], {}],
    ["not_found", 3, ["screen", "nobody", "--json"], {}],
    ["unavailable", 5, ["ls", "--json"], { VM_URL: "http://127.0.0.1:1" }],
  ] as const)("with --json, %s is said as JSON", async (expected, code, args, env) => {
    const result = await cli.call(args, { env });
    expect(result).toMatchObject({ code, stdout: "" });
    expect(errorReplySchema.parse(JSON.parse(result.stderr)).code).toBe(expected);
  });

  test("the process exits with it", async () => {
    await openTerminal(sidecar.client, "taken", "exec cat");
    const exits: [number, string[], Record<string, string>][] = [
      [2, ["lss"], {}],
      [3, ["screen", "nobody"], {}],
      [4, ["new", ".", "--id", "taken", "--", "true"], {}],
      [5, ["ls"], { VM_URL: "http://127.0.0.1:1" }],
    ];
    for (const [code, args, env] of exits) {
      const result = await cli.run(args, { env });
      expect(result).toMatchObject({
        code,
        stdout: "",
        stderr: expect.stringMatching(/^threadmux: [^\n]+\n$/),
      });
    }
  });

  test("help is asked for or given", async () => {
    const { code, stdout, stderr } = await cli.call(["tail", "--help"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain("\nExamples:\n  threadmux tail shop\n");
    const bare = await cli.call([]);
    expect(bare).toMatchObject({ code: 2, stdout: "" });
    expect(bare.stderr).toMatch(/^Usage: threadmux /);
    for (const word of ["input comes too fast", "130  ended by Ctrl-C"]) expect(bare.stderr).toContain(word);
  });

  test("the package offers it under its name", () => {
    const read = (name: string) => readFileSync(new URL(`../${name}`, import.meta.url), "utf8");
    expect(JSON.parse(read("package.json"))).toMatchObject({ bin: { threadmux: "dist/cli/main.js" } });
    expect(read("cli/main.ts")).toMatch(/^#!\/usr\/bin\/env node\n/);
  });
});

// The last: these stop the sidecar and tmux under everybody's feet.
describe("while the sidecar or tmux is away", () => {
  test("tail -f waits for a sidecar that restarts, and misses nothing", async () => {
    const { client } = sidecar;
    await openTerminal(client, "restart", "echo one; read line; echo $line; exit 4");
    await untilOutput(client, "restart", "one");
    const child = cli.start(["tail", "-f", "restart"]);
    let shown = "";
    let said = "";
    child.stdout!.on("data", (data) => {
      shown += data;
    });
    child.stderr!.on("data", (data) => {
      said += data;
    });
    const end = once(child, "close");
    await until("the first line", () => shown.includes("one"));
    await sidecar.stop();
    await until("a word about it", () => said.includes("waiting for it"));
    await sidecar.restart();
    await client.sendInput("restart", { text: "two" });
    expect((await end)[0]).toBe(4);
    expect(shown).toBe("one\r\ntwo\r\ntwo\r\n");
    expect(said).toBe("threadmux: the sidecar does not answer; waiting for it\n");
  });

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
