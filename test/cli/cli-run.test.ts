/** `threadmux run`, `wait` and `events`: agents for scripts. */
import { execFile } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import type { Round } from "../../agent/engines/demo/script.ts";
import { openAgent, STAND_IN_CONFIG, script, untilStatus } from "../support/agents.ts";
import { buildCli, type Cli } from "../support/cli.ts";
import { startLossyLine } from "../support/lossy-line.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { openTerminal } from "../support/threads.ts";
import { until } from "../support/wait.ts";

vi.setConfig({ testTimeout: 60_000 });

let sidecar: TestSidecar;
let cli: Cli;

beforeAll(async () => {
  sidecar = await startSidecar(STAND_IN_CONFIG);
  mkdirSync(join(sidecar.reposDir, "shop"));
  cli = await buildCli(sidecar);
});
afterEach(async () => {
  for (const { threadId } of await sidecar.client.listThreads()) await sidecar.client.killThread(threadId);
});
afterAll(() => sidecar?.close());

const bash = (command: string) => ({ name: "Bash", input: { command, description: "d" } });
const task = (prompt: string, ...more: string[]) => ["run", "--agent", "shop", ...more, "--", prompt];
const open = async () => (await sidecar.client.listThreads()).map(({ threadId }) => threadId);

test("an answer is printed, and nothing is left open", async () => {
  const words = script(
    "go",
    { text: "first", tools: [bash("true")] },
    { text: "the answer\nis 42\u001b[2J" },
  );
  expect(await cli.call(task(words))).toEqual({
    code: 0,
    stdout: "the answer\nis 42\ufffd[2J\n",
    stderr: "",
  });
  expect(await open()).toEqual([]);
  const json = await cli.call(["--json", ...task(script("go", { text: "short" }))]);
  expect(json.code).toBe(0);
  expect(JSON.parse(json.stdout)).toMatchObject({
    threadId: expect.stringMatching(/^shop-/),
    status: "idle",
    stopReason: "end_turn",
    answer: "short",
    error: null,
  });
});

test("a turn that fails is told, in its words and by the exit code", async () => {
  const failing = script("go", { error: { status: 400, message: "no such model" } });
  const { code, stdout, stderr } = await cli.call(task(failing));
  expect([code, stdout]).toEqual([1, ""]);
  expect(stderr).toContain("no such model");
  expect((await cli.call(["run", "--agent", "nowhere", "--", "x"])).code).toBe(2);
  expect((await cli.call(["run", "shop", "--", "x"])).stderr).toContain("--agent");
  expect(await open()).toEqual([]);
});

test("a result that does not fit its schema has an exit code of its own, and is kept", async () => {
  const file = join(sidecar.folders.home, "lines.json");
  writeFileSync(file, '{"type":"object","properties":{"line":{"type":"integer"}}}');
  const run = (...round: Round[]) => ["--output-schema", file, "--", script("go", ...round)];
  const well = await cli.call(["run", "--agent", "shop", ...run({ text: "x", output: { line: 1 } })]);
  expect([well.code, JSON.parse(well.stdout), well.stderr]).toEqual([0, { line: 1 }, ""]);
  const wrong = await cli.call([
    ...["--json", "run", "--agent", "shop"],
    ...run({ text: "x", output: { line: "one" } }),
  ]);
  expect(wrong.code).toBe(6);
  expect(JSON.parse(wrong.stdout)).toMatchObject({
    status: "idle",
    output: "invalid_output",
    error: "No valid result (invalid_output): /line must be integer.",
    answer: "x",
    result: { line: "one" },
  });
  const missing = await cli.call(["run", "--agent", "shop", ...run({ text: "words" })]);
  expect([missing.code, missing.stdout]).toEqual([6, "words\n"]);
  expect(missing.stderr).toContain("invalid_output");
  writeFileSync(file, '{"type":"strnig"}');
  const refused = await cli.call(["run", "--agent", "shop", ...run()]);
  expect([refused.code, refused.stdout]).toEqual([2, ""]);
  expect(refused.stderr).toContain("agent.outputSchema");
  expect(await open()).toEqual([]);
});

test("a long answer and a large result are printed whole", async () => {
  const text = "A line of the answer.\n".repeat(4_000);
  expect(await cli.call(task(script("go", { text })))).toEqual({ code: 0, stdout: text, stderr: "" });
  const file = join(sidecar.folders.home, "any.json");
  writeFileSync(file, "{}");
  const output = { long: "x".repeat(5_000), lines: Array.from({ length: 8_000 }, (_, n) => `${n}`) };
  const run = await cli.call(task(script("go", { text: "So.", output }), "--output-schema", file));
  expect([run.code, JSON.parse(run.stdout), run.stderr]).toEqual([0, output, ""]);
});

test("if nobody reads it any more, or its terminal is closed, its thread ends all the same", async () => {
  const child = cli.start(task(script("go", { text: "hello" })));
  const ended = new Promise((resolve) => child.once("exit", resolve));
  child.stdout?.destroy();
  expect(await ended).toBe(0);
  expect(await open()).toEqual([]);
  const failing = cli.start(task(script("go", { text: "so", error: { status: 400, message: "no model" } })));
  const failed = new Promise((resolve) => failing.once("exit", resolve));
  failing.stdout?.destroy();
  expect(await failed).toBe(1);
  const file = join(sidecar.folders.home, "line.json");
  writeFileSync(file, '{"type":"object"}');
  const unfit = cli.start(task(script("go", { text: "words" }), "--output-schema", file));
  const told = new Promise((resolve) => unfit.once("exit", resolve));
  unfit.stdout?.destroy();
  expect(await told).toBe(6);

  const terminal = cli.terminal(task(script("go", { text: "Yes.", tools: [bash("sleep 600")] })));
  await until("it to work", async () =>
    (await sidecar.client.listThreads()).some(({ doing }) => doing?.includes("sleep")),
  );
  (terminal.pty as unknown as { destroy: () => void }).destroy();
  await until("its thread to end", async () => (await open()).length === 0);
});

test("a sidecar that is killed before it tells of the thread that it has made is asked again", async () => {
  let lost = 0;
  const line = await startLossyLine(sidecar.url, (asked) =>
    asked === "POST /thread/create" && lost++ === 0 ? "answer is lost" : "passes",
  );
  const env = { VM_URL: line.url };
  const { code, stdout } = await cli.call(task(script("go", { text: "Here." })), { env });
  line.close();
  expect({ code, stdout, lost }).toEqual({ code: 0, stdout: "Here.\n", lost: 2 });
  expect(await open()).toEqual([]);
});

test("without a person what it asks is refused, and it is told why", async () => {
  const asking = script(
    "go",
    { tools: [{ name: "Write", input: { file_path: "f", content: "x" } }] },
    { text: "so be it" },
  );
  const { code, stdout, stderr } = await cli.call(task(asking));
  expect({ code, stdout }).toEqual({ code: 0, stdout: "so be it\n" });
  expect(stderr).toContain("Deny");
});

test("at a terminal a person is asked; somebody else's answer takes the question back", async () => {
  const write = (name: string) => ({ tools: [{ name: "Write", input: { file_path: name, content: "x" } }] });
  const terminal = cli.terminal(
    task(script("go", write("one"), write("two"), write("three"), write("four"), { text: "done" })),
  );
  await terminal.untilShown("n = no, or why not:");
  terminal.pty.write("y\r");
  await until("the next ask", () => terminal.shown().split("why not:").length === 3);
  terminal.pty.write("not on a Friday\r");
  await until("the last ask", () => terminal.shown().split("why not:").length === 4);
  const [ask] = await sidecar.client.listAsks();
  if (ask?.request.type !== "permission_request") throw new Error("nothing is asked");
  const [option] = ask.request.options;
  await sidecar.client.answerAsk(ask.threadId, ask.requestId, {
    optionId: option?.optionId ?? "",
  });
  await terminal.untilShown("not asked any more");
  await until("one more ask", () => terminal.shown().split("why not:").length === 5);
  terminal.pty.write("\u0004");
  expect(await terminal.end()).toBe(0);
  expect(terminal.shown()).toContain("done");
  expect(await open()).toEqual([]);
});

test("Ctrl-C interrupts it and ends its thread", async () => {
  const child = cli.start(task(script("go", { tools: [bash("sleep 600")] })));
  const ended = new Promise((resolve) => child.once("exit", resolve));
  await until("it to work", async () =>
    (await sidecar.client.listThreads()).some(({ doing }) => doing?.includes("sleep")),
  );
  child.kill("SIGINT");
  expect(await ended).toBe(130);
  expect(await open()).toEqual([]);
});

test("wait: for a turn, a question and an end", async () => {
  await openAgent(sidecar, "slow", script("go", { text: "so", delayMs: 500 }));
  expect((await cli.call(["wait", "slow"])).code).toBe(0);
  expect((await cli.call(["wait", "slow", "--for", "ask"])).code).toBe(1);
  const write = { name: "Write", input: { file_path: "f", content: "x" } };
  await sidecar.client.sendInput("slow", { text: script("ask", { tools: [write] }, { text: "done" }) });
  const asked = await cli.call(["wait", "slow", "--for", "ask"]);
  expect([asked.code, asked.stdout]).toEqual([0, expect.stringContaining("f")]);
  const over = cli.call(["wait", "slow", "--for", "end"]);
  await sidecar.client.killThread("slow");
  expect((await over).code).toBe(0);
  expect((await cli.call(["wait", "slow"])).code).toBe(1);
  await openTerminal(sidecar.client, "shell", "sleep 0.3; exit 7");
  expect((await cli.call(["wait", "shell"])).code).toBe(7);
  expect((await cli.call(["wait", "shell", "--for", "turn"])).stderr).toContain(
    "--for: turn is not for a terminal",
  );
  expect((await cli.call(["wait", "shell", "--for", "ever"])).code).toBe(2);
});

test("the example for a failed build works as it is pasted", async () => {
  const text = readFileSync(new URL("../../docs/ci.md", import.meta.url), "utf8");
  const [, example = ""] = /^```sh\n(.*?)^```/ms.exec(text) ?? [];
  const bin = join(sidecar.folders.home, "bin");
  mkdirSync(bin);
  writeFileSync(join(bin, "threadmux"), `#!/bin/sh\nexec ${process.execPath} ${cli.file} "$@"\n`, {
    mode: 0o755,
  });
  const env = {
    ...cli.env,
    PATH: `${bin}:${cli.env["PATH"]}`,
    BRANCH: script("main", { text: "It is mended." }),
  };
  const said = await promisify(execFile)("bash", ["-c", example], { env, cwd: sidecar.folders.home });
  expect(said.stdout).toContain("an agent looks into it");
  expect(said.stdout).toContain("2 tests failed");
  expect(said.stdout).toContain("It is mended.");
});

test("events: a line each, as text and as JSON", async () => {
  await openAgent(sidecar, "told", script("go", { text: "hello" }));
  await untilStatus(sidecar, "told", "idle");
  const read = async (...args: string[]) => {
    const child = cli.start(args);
    let text = "";
    child.stdout?.on("data", (piece: Buffer) => (text += piece.toString()));
    await until("its words", () => text.includes("end_turn") && text.endsWith("\n"));
    child.kill("SIGINT");
    return text.trimEnd().split("\n");
  };
  const [text, json] = await Promise.all([
    read("events", "--follow", "--since", "0", "--thread", "told"),
    read(
      "--json",
      "events",
      "--since",
      "0",
      "--thread",
      "told",
      "--type",
      "agent_message",
      "--type",
      "turn_end",
    ),
  ]);
  expect(text[0]).toMatch(/^\d+\ttold\tthread_created\t/);
  expect(text.filter((line) => line.includes("\tagent_message\thello"))).toHaveLength(1);
  expect(json.map((line) => JSON.parse(line).type)).toEqual(["agent_message", "turn_end"]);
  expect((await cli.call(["events", "--since", "x"])).stderr).toContain("--since");
});
