/** The command line as a person or a script uses it, against a real sidecar and real tmux: what threads print. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { outputReplySchema } from "../../shared/api.ts";
import { buildCli, type Cli } from "../support/cli.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { openTerminal, readAll, untilEnded, untilOutput } from "../support/threads.ts";
import { until } from "../support/wait.ts";

// Five tests at a time, each with processes of its own to wait for.
vi.setConfig({ testTimeout: 60_000 });

let sidecar: TestSidecar;
let cli: Cli;

beforeAll(async () => {
  sidecar = await startSidecar({ maxThreads: 100 });
  cli = await buildCli(sidecar);
});
afterAll(() => sidecar?.close());

describe.concurrent("tail and log", () => {
  test("the last lines, also far back and among bytes that are no text", async () => {
    const { client } = sidecar;
    await openTerminal(client, "tail", "seq 1 30000; printf '\\377\\376é\\n\\033[1mlast\\033[0m\\n'");
    await untilEnded(client, "tail");
    const { output } = await readAll(client, "tail");
    expect(await cli.ok("tail", "tail")).toBe(`${output.split("\n").slice(-11, -1).join("\n")}\n`);
    for (const count of [0, 1, 12_000, 30_002]) {
      const lines = output.split("\n").slice(0, -1);
      const expected = count === 0 ? [] : lines.slice(-count);
      expect(await cli.ok("tail", "-n", String(count), "tail"), `-n ${count}`).toBe(
        expected.map((line) => `${line}\n`).join(""),
      );
    }
    expect(await cli.ok("tail", "-n", "all", "tail")).toBe(output);
  });

  test("as text and as JSON", async () => {
    const { client } = sidecar;
    await openTerminal(client, "forms", "printf 'one\\n\\377\\376é\\n\\033[1mlast\\033[0m\\n'");
    await untilEnded(client, "forms");
    expect(await cli.ok("tail", "-n", "2", "--text", "forms")).toBe("\ufffd\ufffdé\nlast\n");
    const reply = outputReplySchema.parse(await cli.json("tail", "-n", "1", "forms"));
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
    expect(await cli.json("log", "log", "-o", file)).toEqual({ threadId: "log", file, bytes: bytes.length });
    expect(readFileSync(file).equals(bytes)).toBe(true);
    const child = cli.start(["log", "log"]);
    const chunks: Buffer[] = [];
    child.stdout!.on("data", (chunk: Buffer) => chunks.push(chunk));
    expect((await once(child, "close"))[0]).toBe(0);
    expect(Buffer.concat(chunks).equals(bytes)).toBe(true);
    expect(await cli.ok("log", "log", "--text")).toMatch(/^\ufffdbold\n1\n2\n/);
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

// The last: this stops the sidecar under everybody's feet.
describe("while the sidecar is away", () => {
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
});

test("logs lists what is there, follows it, and view holds it and picks lines", async () => {
  const dir = join(sidecar.reposDir, "logged");
  mkdirSync(dir);
  writeFileSync(join(dir, "app.log"), "one ERROR\none fine\n");
  expect((await cli.call(["logs", "logged"])).stdout).toContain("app.log\n");
  const { stdout, code } = await cli.call(["logs", "logged", "app.log", "--grep", "ERROR", "--id", "logged"]);
  expect([stdout, code]).toEqual(["logged\n", 0]);
  expect(await untilOutput(sidecar.client, "logged", "one ERROR")).not.toContain("one fine");
  expect((await cli.call(["view", "logged", "--all", "--pause"])).code).toBe(0);
  expect((await cli.call(["view", "logged"])).stdout).toBe("paused, all lines\n");
  expect((await cli.call(["view", "logged", "--resume"])).code).toBe(0);
  await untilOutput(sidecar.client, "logged", "one fine");
  expect((await cli.call(["logs", "logged", "app.log", "--lines", "many"])).stderr).toContain("--lines:");
  expect((await cli.call(["logs", "logged", "no.log"])).stderr).toContain('there is no "no.log"');
  expect((await cli.call(["view", "logged", "--pause", "--resume"])).stderr).toContain(
    "--pause: not together",
  );
});
