/** The command line as a person or a script uses it, against a real sidecar and real tmux: threads are opened, listed, spoken to and ended. */
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { killReplySchema, listReplySchema, threadSchema } from "../../shared/api.ts";
import { healthReplySchema } from "../../shared/machine-api.ts";
import { screenReplySchema } from "../../shared/screen-api.ts";
import { script, standIn } from "../support/agents.ts";
import { buildCli, type Cli } from "../support/cli.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { openTerminal, untilEnded, untilOutput } from "../support/threads.ts";
import { until } from "../support/wait.ts";

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

describe.concurrent("new and ls", () => {
  test("a thread is opened, listed by its start, and ended", async () => {
    const id = (await cli.done("new", "shop", "--", "echo ready; exec cat")).trim();
    expect(id).toMatch(/^shop-[2-9a-z]{5}$/);
    const thread = await sidecar.client.getThread(id);
    expect(thread).toMatchObject({ type: "terminal", dir: "shop", command: "echo ready; exec cat" });
    expect(thread.createdBy).toBe("owner");

    const line = (await cli.done("ls")).split("\n").find((each) => each.startsWith(id));
    expect(line?.split("\t")).toEqual([
      id,
      "shop — echo ready; exec cat",
      "terminal",
      "running",
      "shop",
      expect.stringMatching(/^\d+[sm]$/),
      "", // no turn
      "echo ready; exec cat",
    ]);
    const { threads } = listReplySchema.parse(await cli.json("ls"));
    expect(threads.map(({ threadId }) => threadId)).toContain(id);

    await untilOutput(sidecar.client, id, "ready");
    expect(await cli.done("kill", id)).toBe(`ready\nkilled ${id}, exit code 143\n`);
    expect(await cli.ok("ls")).not.toContain(id);
    expect(await cli.ok("ls", "--status", "ended")).toContain(
      `${id}\tshop — echo ready; exec cat\tterminal\tkilled`,
    );
  });

  test("several words are a program's arguments as they are, one word a command line", async () => {
    const words = ["printf", "<%s>", "a b", "c'd", "$HOME", "x;y", ""];
    await cli.ok("new", ".", "--id", "words", "--", ...words);
    expect((await untilEnded(sidecar.client, "words")).output).toBe("<a b><c'd><$HOME><x;y><>");
    expect(
      await cli.json("new", ".", "--id", "line", "--size", "100x30", "--", "stty size | tr ' ' x"),
    ).toEqual({
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
    // Other tests' threads stand there too: a long status of one leaves little room for the last columns.
    expect(lines[0]).toMatch(/^ID +TITLE +TYPE +STATUS +DIR +UP/);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: that is the point
    for (const line of lines) expect(line).not.toMatch(/[\x00-\x1f\x7f-\x9f\u202e]/);
    for (const line of lines) expect(line.replace(/[漢字]/g, "##").length).toBeLessThanOrEqual(80);
    expect(plain.shown()).toMatch(/table-with-the-longest-of-ids-32 {2}: .*… {2}terminal {2}running/);

    const colored = cli.terminal(["ls"]);
    await colored.end();
    expect(colored.shown()).toContain("\u001b[32mrunning");
    const piped = await cli.ok("ls");
    // biome-ignore lint/suspicious/noControlCharactersInRegex: that is the point
    expect(piped).not.toMatch(/[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]/);
    const raw = await cli.ok("ls", "--json");
    // biome-ignore lint/suspicious/noControlCharactersInRegex: that is the point
    expect(raw.trimEnd()).not.toMatch(/[\x00-\x1f\x7f-\x9f\u202e]/);
    expect(listReplySchema.parse(JSON.parse(raw)).threads.map((each) => each.command)).toContain(command);
  });
});

describe.concurrent("which thread", () => {
  test("a whole id, its start where that fits one, open ones before ended ones", async () => {
    const { client } = sidecar;
    for (const id of ["pre-one", "pre-two", "pre"]) await openTerminal(client, id, "exec cat");
    expect(threadSchema.parse(await cli.json("status", "pre")).threadId).toBe("pre");
    expect(threadSchema.parse(await cli.json("status", "pre-o")).threadId).toBe("pre-one");
    const ambiguous = await cli.call(["kill", "pre-"]);
    expect(ambiguous).toMatchObject({ code: 2, stdout: "" });
    expect(ambiguous.stderr).toMatch(
      /^threadmux: thread: "pre-" fits several threads: pre-two, pre-one\n$|pre-one, pre-two\n$/,
    );
    await client.killThread("pre-two");
    expect(threadSchema.parse(await cli.json("status", "pre-")).threadId).toBe("pre-one");

    const unknown = await cli.call(["tail", "nobody"]);
    expect(unknown).toMatchObject({ code: 3, stdout: "" });
    expect(unknown.stderr).toMatch(
      /^threadmux: thread: no id, number or title fits "nobody"; open are .+\n$/,
    );
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
    await cli.ok("send", "send", "--", "-la", "two  words", "ü");
    await untilOutput(client, "send", "-la two  words M-CM-<\r\n");
    await cli.ok("send", "send", "--no-enter", "half");
    await cli.ok("send", "send", "--key", "x", "--key", "Enter", "--key", "C-d");
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

  test("a paste, whole, if the program asked for pastes; lines if the caller says so", async () => {
    const { client, reposDir } = sidecar;
    const recorder = fileURLToPath(new URL("../fixtures/record-bytes.mjs", import.meta.url));
    await openTerminal(client, "pastes", `exec ${process.execPath} ${recorder} pastes paste`);
    await untilOutput(client, "pastes", "READY");
    expect(await client.getScreen("pastes")).toMatchObject({ bracketedPaste: true });
    const input = "if x:\r\n\ty\n";
    await cli.call(["send", "pastes", "-"], { input });
    await cli.call(["send", "pastes", "--no-paste", "-"], { input });
    await cli.call(["send", "pastes", "--no-enter", "--paste", "a\tb"]);
    const got = () => readFileSync(join(reposDir, "pastes"), "utf8");
    const framed = (text: string) => `\x1b[200~${text}\x1b[201~`;
    const wanted = `${framed("if x:\r\ty")}\rif x:\r\ty\r${framed("a\tb")}`;
    await until("all of it", () => got().length >= wanted.length);
    expect(got()).toBe(wanted);
    const large = await cli.call(["send", "pastes", "-"], { input: "x\n".repeat(600_000) });
    expect(large).toMatchObject({ code: 4, stderr: expect.stringContaining("--no-paste") });
  });

  test("the screen as text, with colours, as JSON", async () => {
    const { client } = sidecar;
    await openTerminal(
      client,
      "screen",
      "printf '\\033]8;;https://a.example\\007\\033[31mr\\033[32med\\033[0m\\033]8;;\\007\\n  two\\n'; exec cat",
    );
    await untilOutput(client, "screen", "two\r\n");
    expect(await cli.ok("screen", "screen")).toBe("red (https://a.example)\n  two\n");
    const coloured = await cli.ok("screen", "screen", "--ansi");
    expect(coloured).toContain("\u001b[31mr");
    expect(coloured).toContain(" (https://a.example)\n");
    const reply = screenReplySchema.parse(await cli.json("screen", "screen"));
    expect(reply).toMatchObject({ cols: 80, rows: 24, cursor: { x: 0, y: 2 }, alternate: false });
  });

  test("another size, and all about a thread", async () => {
    const { client } = sidecar;
    await openTerminal(client, "size", "exec cat");
    const size = { cols: 100, rows: 30 };
    expect(await cli.json("resize", "size", "100x30")).toEqual({ resized: true, threadId: "size", ...size });
    expect(await client.getScreen("size")).toMatchObject(size);
    expect(await cli.ok("status", "size")).toMatch(/^thread {5}size\n(?:.+\n)+size {7}100x30\n$/);
  });

  test("health needs no token", async () => {
    const { stdout, code } = await cli.call(["health", "--json"], {
      env: { VM_TOKEN: "", STATE_DIR: "/nowhere" },
    });
    expect(code).toBe(0);
    expect(healthReplySchema.parse(JSON.parse(stdout)).ok).toBe(true);
    expect(await cli.ok("status")).toMatch(/^sidecar {4}ok, version .+\nup for .+\ntmux {7}tmux .+\n$/);
  });
});
