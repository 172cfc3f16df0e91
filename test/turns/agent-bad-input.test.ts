/** What can be wrong with an agent thread's folder, engine and input: each is told in a sentence. */
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { statusOf } from "../../shared/agent/fold.ts";
import { threadPath } from "../../shared/agent/paths.ts";
import { type AgentThread, bash, DEMO, openThreads, says } from "../support/agent-threads.ts";
import { signal } from "../support/processes.ts";
import { until } from "../support/wait.ts";

const open = openThreads();

test.each([
  [
    "missing",
    undefined,
    /was not found\. Install it with: npm install -g .*@anthropic-ai\/claude-code@2\.1\.330/,
  ],
  ["too old", "echo '2.1.197 (Claude Code)'", /2\.1\.197 is too old: 2\.1\.330 or newer is needed/],
  ["no agent", "exit 3", /does not start/],
])("an engine that is %s fails the thread with the command that mends it", async (_, body, sentence) => {
  const thread = open();
  const program = join(thread.dir, "agent-program");
  if (body) writeFileSync(program, `#!/bin/sh\n${body}\n`, { mode: 0o755 });
  const config = JSON.parse(readFileSync(threadPath(thread.folder, "config"), "utf8"));
  writeFileSync(threadPath(thread.folder, "config"), JSON.stringify({ ...config, launch: { program } }));
  thread.write("hi");
  thread.start();
  expect(await thread.ended()).toBe(0);
  expect(statusOf(thread.fold())).toBe("failed");
  expect(thread.of("failure")[0]?.message).toMatch(sentence);
  expect(thread.events().map(({ type }) => type)).toEqual(["thread_start", "user_message", "failure"]);
  expect(readdirSync(thread.folder).filter((name) => /^(engine|stdin)\.(?!spare$)/.test(name))).toEqual([]);
});

test("a directory that is gone is told as such; once it is there, the message goes in", async () => {
  const thread = open();
  rmSync(thread.dir, { recursive: true });
  thread.write(says("hi", { text: "Hello." }));
  thread.start();
  expect(await thread.ended()).toBe(0);
  const message = `The directory ${thread.dir} is not there.`;
  expect(thread.of("failure")).toMatchObject([{ code: "no_directory", message }]);
  mkdirSync(thread.dir);
  thread.control("resume");
  thread.start();
  await thread.event("turn_end");
});

test("a program that is too old hears nothing, and is not started if it could take up a cut-off turn", async () => {
  const thread = open();
  const [program, told] = [join(thread.dir, "old-agent"), join(thread.dir, "told")];
  const whole = [DEMO.program, ...DEMO.args].join(" ");
  const write = (body: string) => writeFileSync(program, `#!/bin/sh\n${body}\n`, { mode: 0o755 });
  const old = (first: string) =>
    `if [ "$1" = --version ]; then ${first}; echo 2.1.197; else echo started >> ${told}; cat >> ${told}; fi`;
  const config = JSON.parse(readFileSync(threadPath(thread.folder, "config"), "utf8"));
  writeFileSync(threadPath(thread.folder, "config"), JSON.stringify({ ...config, launch: { program } }));
  // It tells its version when it has come up beside the check, so it could hear something.
  write(old(`until [ -s ${told} ]; do sleep 0.05; done`));
  thread.write(says("hi", { text: "A text that is long enough to come in pieces.", pauseFor: "/nowhere" }));
  thread.start();
  await thread.ended();
  expect(readFileSync(told, "utf8")).toBe("started\n");
  rmSync(told);

  write(`exec ${whole} "$@"`);
  thread.control("resume");
  thread.start();
  await thread.event("delivery_update");
  // Killed before its turn is saved there would be nothing to take up.
  await until("the turn to be saved", () => saved(thread.home).includes('"type":"user"'));
  thread.killRunner();
  await thread.runnerDied();
  for (const { pid } of thread.engineProcesses()) signal(pid, "SIGKILL");
  write(old("sleep 0.3"));
  thread.start();
  await thread.ended();
  expect(thread.of("turn_end")).toMatchObject([{ stopReason: "interrupted" }]);
  expect(thread.of("failure")).toHaveLength(2);
  expect(existsSync(told)).toBe(false);
});

/** All conversations that the engine keeps in this home. */
function saved(home: string): string {
  const paths = readdirSync(home, { recursive: true, encoding: "utf8" }).filter((path) =>
    path.endsWith(".jsonl"),
  );
  return paths.map((path) => readFileSync(join(home, path), "utf8")).join("");
}

test("torn and foreign lines of the inbox yield notices, and the rest counts", async () => {
  const thread = open();
  const inbox = threadPath(thread.folder, "inbox");
  appendFileSync(inbox, '{"op":"message","mess\n{"op":"fly","ts":"2026-11-22T10:00:00.000Z"}\n\0\0\0\n');
  thread.write(says("hi", { text: "Hello." }));
  appendFileSync(inbox, '{"op":"message","torn');
  thread.start();
  await thread.event("turn_end");
  expect(thread.of("notice")).toHaveLength(3);
  expect(thread.of("user_message")).toHaveLength(1);
});

test("a torn last line of the transcript is cut off; what it told is told again", async () => {
  const thread = open({ timeouts: { idleSeconds: 1 } });
  thread.write(says("hi", { text: "Hello." }));
  thread.start();
  await thread.event("turn_end");
  await thread.ended();
  appendFileSync(threadPath(thread.folder, "transcript"), '{"seq":99,"id":"r98.0","ts":"2026');
  thread.write(says("again", { text: "Well." }));
  thread.start();
  await thread.event("turn_end", 2);
  expect(thread.events().map(({ seq }) => seq)).toEqual(thread.events().map((_, index) => index + 1));
});

test("an engine's line that can't be read ends the engine and fails the thread; it can go on", async () => {
  const thread = open();
  thread.write(says("wait", { text: "A text that is long enough to come in pieces.", pauseFor: "/nowhere" }));
  thread.start();
  await thread.event("delivery_update");
  appendFileSync(join(thread.folder, "engine.1.jsonl"), "this is no JSON\n");
  expect(await thread.ended()).toBe(0);
  expect(thread.of("failure")).toMatchObject([{ code: "engine_output" }]);
  expect(statusOf(thread.fold())).toBe("failed");
  expect(thread.engineProcesses()).toEqual([]);
});

test("an engine's line that is longer than anybody reads: told, and the thread can go on", async () => {
  const thread = open();
  const go = join(thread.dir, "go");
  thread.write(says("wait", { text: "Here I am.", waitFor: go }));
  thread.start();
  await thread.event("turn_start");
  appendFileSync(join(thread.folder, "engine.1.jsonl"), `${Buffer.alloc(70 * 1024 * 1024, "x")}\n`);
  expect(await thread.ended()).toBe(0);
  expect(thread.of("failure")).toMatchObject([{ code: "engine_output" }]);
  expect(thread.engineProcesses()).toEqual([]);
  writeFileSync(go, "");
  thread.control("resume");
  thread.start();
  expect(await thread.event("agent_message")).toMatchObject({ text: "Here I am." });
});

test("200 KB of text reach the engine whole; the transcript's line stays short", async () => {
  const thread = open();
  const text = says(`${"0123456789".repeat(20_000)} end`, { text: "Read." });
  thread.writeWhole(text);
  thread.start();
  await thread.event("turn_end");
  expect(thread.of("agent_message").map(({ text }) => text)).toEqual(["Read."]);
  const longest = readFileSync(threadPath(thread.folder, "transcript"), "utf8").split("\n");
  expect(Math.max(...longest.map((line) => Buffer.byteLength(line)))).toBeLessThan(64 * 1024);
  const projects = join(thread.home, ".claude", "projects");
  // The engine saves its conversation a moment after it speaks.
  await until("the engine's conversation to hold the text", () => {
    const files = readdirSync(projects, { recursive: true, encoding: "utf8" });
    const saved = files.filter((name) => name.endsWith(".jsonl"));
    const whole = `${"0123456789".repeat(20_000)} end`;
    return saved.some((name) => readFileSync(join(projects, name), "utf8").includes(whole));
  });
});

test("an image that is gone, too large or of another kind is named to the model and to people", async () => {
  const thread = open();
  const image = (uri: string, mimeType = "image/png") => ({ type: "image", mimeType, uri });
  mkdirSync(join(thread.folder, "attachments"));
  writeFileSync(join(thread.folder, "attachments/big.png"), Buffer.alloc(8 * 1024 * 1024 + 1));
  const content = [
    { type: "text", text: says("look", { text: "Seen." }) },
    image("attachments/gone.png"),
    image("attachments/big.png"),
    image("attachments/a.tiff", "image/tiff"),
    image("../../../../etc/passwd"),
  ];
  thread.append({ op: "message", messageId: "m", source: "discord:7", content });
  thread.start();
  await thread.event("turn_end");
  expect(thread.of("notice").map(({ title }) => title)).toEqual([
    "The image attachments/gone.png is gone.",
    "The image attachments/big.png has 8388609 bytes: more than 8 MiB.",
    "The image attachments/a.tiff is image/tiff, which the agent can't see.",
    "The image ../../../../etc/passwd is not in the thread's folder.",
  ]);
});

test("a tool's long output: the event keeps head and tail, the body lies in blobs, bounded", async () => {
  const thread = open({ agent: { permissionMode: "acceptEdits" } });
  const content = `HEAD${"x".repeat(2_000_000)}TAIL`;
  const write = { name: "Write", input: { file_path: join(thread.dir, "big.txt"), content } };
  thread.write("use the script");
  const script = join(thread.dir, "..", "script.json");
  writeFileSync(script, JSON.stringify([{ tools: [write] }, { text: "Written." }]));
  const config = JSON.parse(readFileSync(threadPath(thread.folder, "config"), "utf8"));
  const program = join(thread.dir, "..", "program.sh");
  const whole = [DEMO.program, ...DEMO.args].join(" ");
  writeFileSync(program, `#!/bin/sh\nTHREADMUX_DEMO_SCRIPT=${script} exec ${whole} "$@"\n`, { mode: 0o755 });
  writeFileSync(threadPath(thread.folder, "config"), JSON.stringify({ ...config, launch: { program } }));
  thread.start();
  await thread.event("turn_end");
  const [call] = thread.of("tool_call");
  const input = call?.rawInput as { content: string };
  expect([input.content.slice(0, 4), input.content.slice(-4)]).toEqual(["HEAD", "TAIL"]);
  expect(call?.blobs?.["/rawInput/content"]?.bytes).toBe(2_000_008);
  for (const name of readdirSync(join(thread.folder, "blobs"))) {
    expect(readFileSync(join(thread.folder, "blobs", name)).length).toBeLessThanOrEqual(1024 * 1024);
  }
});

describe("the engine has lost its conversation: a new one is told the transcript, and people are told", () => {
  /** Two turns are over, and the engine has gone. The scripted model says them again when it is told of them. */
  const openRested = async () => {
    const thread = open({ timeouts: { idleSeconds: 1 } });
    thread.write(says("remember the word plover", { text: "I will." }));
    thread.start();
    await thread.event("turn_end");
    thread.write(says("do you?", { text: "I do." }));
    await thread.eventOfRunners("turn_end", 2);
    await thread.ended();
    return thread;
  };
  /** The engine's file of the conversation. */
  const sessionFile = (thread: AgentThread) => {
    const projects = join(thread.home, ".claude/projects");
    const names = readdirSync(projects, { recursive: true, encoding: "utf8" });
    return join(projects, names.find((name) => name.endsWith(".jsonl")) ?? "");
  };
  const cut = (thread: AgentThread) => {
    const file = sessionFile(thread);
    const text = readFileSync(file, "utf8");
    expect(text.slice(0, text.length / 2)).toContain("I will.");
    truncateSync(file, Math.floor(statSync(file).size / 2));
  };

  test.each<[string, (thread: AgentThread) => void]>([
    ["with all others", (thread) => rmSync(join(thread.home, ".claude"), { recursive: true })],
    ["deleted", (thread) => rmSync(sessionFile(thread))],
    ["emptied", (thread) => truncateSync(sessionFile(thread))],
    ["cut in its middle", cut],
  ])("%s", async (_, lose) => {
    const thread = await openRested();
    lose(thread);
    thread.write("which word?");
    thread.start();
    await thread.event("turn_end", 3);
    const [first, second] = thread.of("engine_start");
    expect(second).toMatchObject({ resumed: false, reseeded: true });
    expect(second?.sessionId).not.toBe(first?.sessionId);
    const echo = readFileSync(join(thread.folder, "engine.2.jsonl"), "utf8");
    for (const part of ["remember the word plover", "You: I do.", "which word?"])
      expect(echo).toContain(part);
    expect(thread.of("notice")).toMatchObject([{ title: "The conversation begins anew" }]);
    expect(thread.of("delivery")).toHaveLength(3);
    // The new one is a conversation like any other.
    await thread.ended();
    thread.write("thanks");
    thread.start();
    await thread.event("turn_end", 4);
    expect(thread.of("engine_start")[2]).toMatchObject({ resumed: true, sessionId: second?.sessionId });
  });

  test("while it is being resumed: the message is not lost", async () => {
    const thread = await openRested();
    // The program finds its file gone that the runner has just seen.
    const program = join(thread.folder, "..", "program.sh");
    const whole = [DEMO.program, ...DEMO.args].join(" ");
    const lose = `case "$*" in *--resume*) rm -f ${sessionFile(thread)} ;; esac`;
    writeFileSync(program, `#!/bin/sh\n${lose}\nexec ${whole} "$@"\n`, { mode: 0o755 });
    const config = JSON.parse(readFileSync(threadPath(thread.folder, "config"), "utf8"));
    writeFileSync(threadPath(thread.folder, "config"), JSON.stringify({ ...config, launch: { program } }));
    thread.write("which word?");
    thread.start();
    const last = await until("an engine", () => thread.of("engine_start").find(({ reseeded }) => reseeded));
    await until("the thread to be idle", () => statusOf(thread.fold()) === "idle");
    const output = readFileSync(join(thread.folder, `engine.${last.generation}.jsonl`), "utf8");
    expect(output).toContain("which word?");
    expect(thread.of("delivery")).toHaveLength(3);
  });
});

test("an error of the model's API fails the turn in the engine's own words; a message goes on", async () => {
  const thread = open();
  thread.write(says("bad", { error: { status: 400, message: "too strange" } }));
  thread.start();
  expect(await thread.event("turn_end")).toMatchObject({ stopReason: "error" });
  expect(thread.of("turn_end")[0]?.error).toContain("too strange");
  expect(statusOf(thread.fold())).toBe("failed");
  thread.write(says("good", { text: "Fine." }));
  await thread.event("turn_end", 2);
  await until("the thread to be idle", () => statusOf(thread.fold()) === "idle");
});

test("a folder without a configuration, or with a wrong one, is refused with the field's name", async () => {
  const thread = open();
  const path = threadPath(thread.folder, "config");
  const config = JSON.parse(readFileSync(path, "utf8"));
  writeFileSync(path, JSON.stringify({ ...config, dir: "relative" }));
  thread.start();
  expect(await thread.ended()).toBe(2);
  expect(thread.pane).toContain("dir:");
  rmSync(path);
  thread.start();
  expect(await thread.ended()).toBe(2);
  expect(thread.pane).toContain("thread.json");
});

test("a single thread takes no second message", async () => {
  const thread = open({ agent: { mode: "single" } });
  thread.write(says("only this", { text: "Done." }));
  thread.write("and this");
  thread.start();
  await thread.event("turn_end");
  expect(thread.of("user_message")).toHaveLength(1);
  expect(thread.of("notice")[0]?.title).toBe("This thread takes no second message");
});

test("a background task keeps the engine up; ended by a person, the engine goes when idle", async () => {
  const thread = open({ timeouts: { idleSeconds: 1 } });
  const call = bash("tail -f /dev/null", { run_in_background: true });
  thread.write(says("serve", { tools: [call] }, { text: "it runs" }));
  thread.start();
  await thread.event("turn_end");
  const task = await until("the task", () => thread.fold().backgroundTasks[0]);
  thread.control("end_task", { taskId: task.taskId });
  expect(await thread.ended()).toBe(0);
  expect(thread.fold().backgroundTasks).toEqual([]);
  expect(thread.engineProcesses()).toEqual([]);
});
