/** The stand-in for a coding agent as a program of its own. */
import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, test } from "vitest";
import { makeFolder } from "../support/folders.ts";
import { programFile } from "../support/programs.ts";
import { until } from "../support/wait.ts";
import { FLAGS } from "./program.ts";
import { scenarios } from "./scenarios.ts";
import { type Engine, Session, says } from "./session.ts";

const engine: Engine = { command: [process.execPath, programFile("agent/engines/demo")], env: {} };
let folder: ReturnType<typeof makeFolder>;
let session: Session;

beforeEach(() => {
  folder = makeFolder();
  session = new Session(engine, folder.path);
});

afterEach(async () => {
  await session.close();
  folder.remove();
});

test.each(Object.entries(scenarios))("%s", async (_, run) => {
  await run(session);
});

test("the tour says in its first line that no model is behind it, and shows each kind of ask", async () => {
  await session.start();
  session.send("hi");
  const asked: string[] = [];
  for (const _ of [1, 2, 3, 4, 5]) {
    const ask = await session.ask();
    asked.push(ask.request.tool_name);
    session.allow(ask);
  }
  expect(asked).toEqual(["Write", "AskUserQuestion", "Edit", "ExitPlanMode", "Bash"]);
  const result = await session.result();
  expect(result).toMatchObject({ subtype: "success", is_error: false });
  const [first] = session.lines().filter(({ type }) => type === "assistant");
  expect(JSON.stringify(first)).toContain('"text":"No model is behind this agent');
  expect(existsSync(join(session.cwd, "threadmux-demo.md"))).toBe(false);
});

test("--version prints as the program does that it stands in for", async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [
    programFile("agent/engines/demo"),
    "--version",
  ]);
  expect(stdout).toBe("2.1.330 (threadmux demo)\n");
});

test.each([
  [["--nonsense"], "unknown option '--nonsense'"],
  [
    ["--session-id", randomUUID(), "--permission-mode", "yolo"],
    "option '--permission-mode <mode>' argument is invalid",
  ],
  [["--session-id", "12"], "Invalid session ID. Must be a valid UUID."],
  [["--resume", randomUUID()], "No conversation found with session ID: "],
])("%j is refused: %s", async (args, message) => {
  const run = promisify(execFile)(process.execPath, [programFile("agent/engines/demo"), ...FLAGS, ...args], {
    cwd: session.cwd,
    env: { HOME: session.home },
  });
  await expect(run).rejects.toMatchObject({ code: 1, stderr: expect.stringContaining(message) });
});

test("a session's id is taken while its file is there", async () => {
  await session.start();
  session.send(says("hi", { text: "Hello." }));
  await session.result();
  await session.end();
  await expect(session.start()).rejects.toThrow(`Session ID ${session.id} is already in use.`);
});

test("an effect happens once, however often the program is killed in it", async () => {
  const command = "echo x >> effects; tail -f /dev/null";
  await session.start(["--allowedTools", "Bash"]);
  session.send(says("run", { tools: [{ name: "Bash", input: { command } }] }, { text: "told" }));
  const effects = join(session.cwd, "effects");
  await until("the effect", () => existsSync(effects));
  await session.program.kill();
  const env = { CLAUDE_CODE_RESUME_INTERRUPTED_TURN: "1", CLAUDE_CODE_RESUME_SHOWS_CUT_OFF_CALLS: "1" };
  await session.start(["--allowedTools", "Bash"], { resume: true, env });
  expect(await session.result()).toMatchObject({ result: "told" });
  expect(readFileSync(effects, "utf8")).toBe("x\n");
});
