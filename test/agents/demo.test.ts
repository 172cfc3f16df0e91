/** The stand-in for a coding agent as a program of its own. */
import { execFile } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { PROTOCOL_FLAGS } from "../../agent/engines/claude/launch.ts";
import { makeFolder } from "../support/folders.ts";
import { programFile } from "../support/programs.ts";
import { effectHappensOnce, endIsPrintedWhenSaved } from "./cut-off.ts";
import { normalise, readRecording } from "./recording.ts";
import { scenarios } from "./scenarios.ts";
import { type Engine, Session, says } from "./session.ts";
import { shapesOf } from "./shape.ts";

const engine: Engine = { command: [process.execPath, programFile("agent/engines/demo")], env: {} };
const script = (name: string) => fileURLToPath(new URL(`../../scripts/${name}`, import.meta.url));
const ID = "0b7f1c7e-6d8d-4a3c-9f0e-2f1d6a1c5b11";
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

describe("the stand-in speaks as the real program was recorded", () => {
  test.each(Object.entries(scenarios))("%s", async (name, run) => {
    await run(session);
    await session.finish();
    const lines = normalise(session.lines(), { app: session.cwd, home: session.home });
    expect(shapesOf(lines)).toEqual(shapesOf(readRecording(name)));
  });
});

test("each recording has its conversation", () => {
  const recorded = readdirSync(new URL("recordings/", import.meta.url)).map((name) =>
    name.replace(".jsonl", ""),
  );
  expect(recorded.sort()).toEqual(Object.keys(scenarios).sort());
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

test("--version prints as the pinned program does that it stands in for", async () => {
  const pinned = /claude_version=(\S+)/.exec(readFileSync(script("agents.sh"), "utf8"))?.[1];
  const { stdout } = await promisify(execFile)(process.execPath, [
    programFile("agent/engines/demo"),
    "--version",
  ]);
  expect(stdout).toBe(`${pinned} (threadmux demo)\n`);
});

test.each<[string[], string]>([
  [["--nonsense"], "unknown option '--nonsense'"],
  [
    ["--session-id", ID, "--permission-mode", "yolo"],
    "option '--permission-mode <mode>' argument is invalid",
  ],
  [["--session-id", "12"], "Invalid session ID. Must be a valid UUID."],
  [["--resume", ID], "No conversation found with session ID: "],
])("%j is refused: %s", async (args, message) => {
  const run = promisify(execFile)(
    process.execPath,
    [programFile("agent/engines/demo"), ...PROTOCOL_FLAGS, ...args],
    {
      cwd: session.cwd,
      env: { HOME: session.home },
    },
  );
  await expect(run).rejects.toMatchObject({ code: 1, stderr: expect.stringContaining(message) });
});

test("a session's id is taken while its file is there", async () => {
  await session.start();
  session.send(says("hi", { text: "Hello." }));
  await session.result();
  await session.end();
  await expect(session.start()).rejects.toThrow(`Session ID ${session.id} is already in use.`);
});

test("an effect happens once, if it may begin only when its call is saved", async () => {
  await effectHappensOnce(session);
});

test("a turn's end is printed when the turn is saved: killed at once, nothing of it is forgotten", async () => {
  await endIsPrintedWhenSaved(session);
});

test("a fork knows the conversation up to its point, and leaves it alone", async () => {
  await session.start();
  session.send(says("hi", { text: "one" }, { text: "two" }, { text: "three" }));
  await session.result();
  const uuid = session.lines().find(({ type }) => type === "assistant")?.["uuid"];
  session.send("more");
  expect(await session.result()).toMatchObject({ result: "two" });
  await session.end();
  const fork = new Session(engine, folder.path);
  try {
    await fork.start(["--resume", session.id, "--resume-session-at", String(uuid), "--fork-session"]);
    fork.send("more");
    expect(await fork.result()).toMatchObject({ result: "two" });
  } finally {
    await fork.close();
  }
  await session.start([], { resume: true });
  session.send("more");
  expect(await session.result()).toMatchObject({ result: "three" });
});

test("a script that is none is told of in the answer", async () => {
  await session.start();
  session.send('do @@[{"txt":"one"}]');
  expect(await session.result()).toMatchObject({ result: expect.stringContaining("txt"), is_error: false });
});
