/**
 * What the runner needs of an engine, as conversations. Each runs with the real program and with the stand-in; the
 * real program's lines are kept in recordings/ and the stand-in's are compared with them.
 */
import assert from "node:assert/strict";
import { existsSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "../support/wait.ts";
import { cutOff } from "./cut-off.ts";
import { bash, type Session, says } from "./session.ts";

const HOOKS = {
  hooks: {
    PreToolUse: [{ matcher: "Edit|Write|NotebookEdit", hookCallbackIds: ["pre"], timeout: 3600 }],
    PostToolUse: [{ hookCallbackIds: ["post"] }],
    PostToolBatch: [{ hookCallbackIds: ["batch"] }],
  },
};
const ONE_PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const image = (data: string) => ({
  type: "image",
  source: { type: "base64", media_type: "image/png", data },
});

export const scenarios: Record<string, (session: Session) => Promise<void>> = {
  ...cutOff,

  async hello(session) {
    await session.start();
    session.send(says("hi", { thinking: "A greeting.", text: "Hello." }));
    await session.result();
    assert.equal(await session.end(), 0);
  },

  async tools(session) {
    await session.start();
    writeFileSync(join(session.cwd, "read.txt"), "one\ntwo\n");
    const write = { name: "Write", input: { file_path: join(session.cwd, "new.txt"), content: "A\nB\n" } };
    const path = join(session.cwd, "new.txt");
    const edit = { name: "Edit", input: { file_path: path, old_string: "B", new_string: "C" } };
    const read = { name: "Read", input: { file_path: join(session.cwd, "read.txt") } };
    const steps = [
      bash("echo out; echo err >&2; echo x > effect"),
      write,
      edit,
      bash("node -e 'process.exit(3)'"),
      bash("node -e 2"),
      read,
    ];
    session.send(says("work", ...steps.map((call) => ({ tools: [call] })), { text: "done" }));
    for (const _ of ["Bash", "Write", "Edit", "node -e 1"]) session.allow(await session.ask());
    session.answer(await session.ask(), { behavior: "deny", message: "not that" });
    await session.result();
    assert.equal(existsSync(join(session.cwd, "effect")), true);
  },

  async parallel(session) {
    await session.start();
    const reads = ["/etc/hostname", "/etc/hosts"].map((file_path) => ({
      name: "Read",
      input: { file_path },
    }));
    session.send(says("look", { text: "Looking.", tools: [...reads, bash("mkdir new")] }, { text: "seen" }));
    const first = await session.ask();
    const second = await session.ask();
    session.answer(second, { behavior: "deny", message: "no" });
    await session.until("its result", (line) => "tool_use_result" in line);
    session.allow(first);
    session.allow(await session.ask());
    await session.result();
  },

  async rule(session) {
    await session.start();
    session.send(
      says("make", { tools: [bash("mkdir one")] }, { tools: [bash("mkdir two")] }, { text: "made" }),
    );
    const rules = [{ toolName: "Bash", ruleContent: "mkdir:*" }];
    const update = { type: "addRules", rules, behavior: "allow", destination: "session" };
    session.allow(await session.ask(), { updatedPermissions: [update] });
    await session.result();
    await session.end();
    await session.start(["--allowedTools", "Bash(mkdir:*)"], { resume: true });
    session.send(says("again", { tools: [bash("mkdir three")] }, { text: "made" }));
    await session.result();
    assert.equal(existsSync(join(session.cwd, "three")), true);
  },

  async question(session) {
    await session.start();
    const options = [
      { label: "SQLite", description: "one file" },
      { label: "Postgres", description: "a server" },
    ];
    const questions = [{ question: "Which database?", header: "DB", options, multiSelect: false }];
    session.send(
      says("ask me", { tools: [{ name: "AskUserQuestion", input: { questions } }] }, { text: "ok" }),
    );
    const ask = await session.ask();
    const answers = { "Which database?": "Postgres" };
    session.answer(ask, { behavior: "allow", updatedInput: { ...ask.request.input, answers } });
    await session.result();
  },

  async plan(session) {
    await session.start(["--permission-mode", "plan"]);
    const exit = { tools: [{ name: "ExitPlanMode", input: { plan: "# Plan\n1. one" } }] };
    const write = { name: "Write", input: { file_path: join(session.cwd, "planned.txt"), content: "x" } };
    session.send(says("plan it", exit, exit, { tools: [write] }, { text: "done" }));
    session.answer(await session.ask(), { behavior: "deny", message: "keep planning" });
    const mode = { type: "setMode", mode: "acceptEdits", destination: "session" };
    session.allow(await session.ask(), { updatedPermissions: [mode] });
    await session.result();
    assert.equal(existsSync(join(session.cwd, "planned.txt")), true);
  },

  async "interrupt-text"(session) {
    await session.start();
    const text = "A text that is long enough to come in two pieces, at least.";
    session.send(says("talk", { text, pauseFor: join(session.home, "never") }));
    await session.until("the first piece", (line) => JSON.stringify(line).includes("text_delta"));
    await session.control("interrupt");
    await session.result();
    session.send(says("go on", { text: "gone on" }));
    await session.result();
  },

  async "interrupt-tool"(session) {
    await session.start(["--permission-mode", "acceptEdits"]);
    session.send(
      says(
        "run",
        { tools: [bash("touch begun; mkdir -p a; rm -r a; touch b")] },
        { tools: [bash("node -e 1")] },
      ),
    );
    const ask = await session.ask();
    const queued = session.send(says("later", { text: "never said" }));
    await session.until(
      "the message queued",
      (line) => line["command_uuid"] === queued && line["state"] === "queued",
    );
    await session.control("interrupt", { cancel_queued: true });
    assert.equal((await session.next("control_cancel_request"))["request_id"], ask.request_id);
    await session.result();
  },

  async "interrupt-running"(session) {
    await session.start(["--allowedTools", "Bash"]);
    session.send(says("run", { tools: [bash("touch begun; tail -f /dev/null")] }));
    await until("the command to run", () => existsSync(join(session.cwd, "begun")));
    const queued = session.send(says("then this", { text: "this" }));
    await session.until(
      "the message queued",
      (line) => line["command_uuid"] === queued && line["state"] === "queued",
    );
    await session.control("interrupt");
    await session.result();
    await session.result();
  },

  async "mid-turn"(session) {
    await session.start(["--allowedTools", "Bash"]);
    const wait = "touch begun; until [ -e go ]; do read -t 0.05 <> <(:) || :; done";
    session.send(says("run", { tools: [bash(wait)] }, { text: "heard" }));
    await until("the command to run", () => existsSync(join(session.cwd, "begun")));
    const second = session.send("and this");
    await session.until(
      "the message queued",
      (line) => line["command_uuid"] === second && line["state"] === "queued",
    );
    writeFileSync(join(session.cwd, "go"), "");
    await session.result();
  },

  async hooks(session) {
    await session.start([], { initialize: HOOKS });
    const path = join(session.cwd, "held.txt");
    const write = (content: string) => ({ tools: [{ name: "Write", input: { file_path: path, content } }] });
    session.send(says("write", write("A"), write("B"), { text: "written" }));
    const hook = async (reply: object) =>
      session.answer(await session.next("control_request", "hook_callback"), reply);
    await hook({});
    session.allow(await session.ask());
    await hook({});
    const additionalContext = "#2 waits for held.txt";
    await hook({ hookSpecificOutput: { hookEventName: "PostToolBatch", additionalContext } });
    const permissionDecisionReason = "held.txt is being edited by #2";
    const denied = { hookEventName: "PreToolUse", permissionDecision: "deny", permissionDecisionReason };
    await hook({ hookSpecificOutput: denied });
    await hook({});
    await session.result();
  },

  async modes(session) {
    await session.start();
    session.send(says("hi", { text: "Hello." }));
    await session.result();
    await session.control("set_permission_mode", { mode: "plan" });
    await session.control("set_permission_mode", { mode: "acceptEdits" });
    await session.control("set_permission_mode", { mode: "bypassPermissions" });
    await session.control("set_model", { model: "claude-haiku-4-5" });
    await session.control("get_context_usage");
    await session.control("no_such_thing");
    const write = { name: "Write", input: { file_path: join(session.cwd, "a.txt"), content: "x" } };
    session.send(says("write", { tools: [write] }, { text: "written" }));
    await session.result();
  },

  async compact(session) {
    await session.start();
    session.send(says("hi", { text: "Hello." }));
    await session.result();
    session.send("/compact keep the names");
    await session.result();
    session.send(says("still there?", { text: "yes" }));
    await session.result();
  },

  async images(session) {
    await session.start();
    session.send([image(ONE_PIXEL), { type: "text", text: says("see", { text: "seen" }) }]);
    await session.result();
    session.send([image("bm90IGFuIGltYWdl"), { type: "text", text: says("see", { text: "not seen" }) }]);
    await session.result();
  },

  async background(session) {
    await session.start(["--allowedTools", "Bash"]);
    const wait = "until [ -e go ]; do read -t 0.05 <> <(:) || :; done; echo finished";
    session.send(says("serve", { tools: [bash(wait, { run_in_background: true })] }, { text: "it runs" }));
    await session.result();
    writeFileSync(join(session.cwd, "go"), "");
    await session.result();
  },

  async "stop-task"(session) {
    await session.start(["--allowedTools", "Bash"]);
    const serve = bash("tail -f /dev/null", { run_in_background: true });
    session.send(says("serve", { tools: [serve] }, { text: "it runs" }, { text: "it was stopped" }));
    await session.result();
    const changed =
      session.lines().find((line) => line["subtype"] === "background_tasks_changed") ?? session.lines()[0];
    const [task] = (changed as unknown as { tasks: { task_id: string }[] }).tasks;
    await session.control("stop_task", { task_id: task?.task_id });
    await session.until(
      "no task",
      (line) => line["subtype"] === "background_tasks_changed" && (line["tasks"] as []).length === 0,
    );
  },

  async slow(session) {
    await session.start(["--allowedTools", "Bash"]);
    const seconds = 4;
    const wait = bash(`timeout ${seconds} tail -f /dev/null; echo end`);
    session.send(says("wait", { tools: [wait] }, { text: "waited" }));
    await session.result();
  },

  async long(session) {
    await session.start(["--allowedTools", "Write"]);
    const path = join(session.cwd, "long.txt");
    const content = "0123456789".repeat(100_000);
    const write = { name: "Write", input: { file_path: path, content } };
    session.send(says("write", { tools: [write] }, { text: "written" }));
    await session.result();
    assert.equal(statSync(path).size, content.length);
    session.send(says("x".repeat(200_000), { text: "read" }));
    assert.equal((await session.result())["result"], "read");
  },

  async errors(session) {
    await session.start();
    session.send(says("bad", { error: { status: 400, message: "too strange" } }));
    await session.result();
    session.send(says("busy", { error: { status: 529, times: 2 }, text: "at last" }));
    await session.result();
    session.send(says("limited", { error: { status: 429, times: 1 }, text: "at last" }));
    await session.result();
  },

  async merged(session) {
    await session.start();
    const go = join(session.home, "go");
    session.send(says("first", { text: "first", waitFor: go }));
    const others = ["second", "third"].map((text) => session.send(text));
    for (const uuid of others) {
      await session.until("it queued", (line) => line["command_uuid"] === uuid && line["state"] === "queued");
    }
    writeFileSync(go, "");
    await session.result();
    await session.result();
  },

  async "stray-answer"(session) {
    await session.start();
    session.send(says("make", { tools: [bash("mkdir one")] }, { text: "made" }));
    const ask = await session.ask();
    session.answer({ ...ask, request_id: "nobody-asked" }, { behavior: "allow", updatedInput: {} });
    session.allow(ask);
    session.answer(ask, { behavior: "deny", message: "too late" });
    await session.result();
    session.answer(ask, { behavior: "deny", message: "much too late" });
    session.send(says("hi", { text: "Hello." }));
    await session.result();
  },

  async "deny-and-stop"(session) {
    await session.start();
    session.send(says("make", { tools: [bash("mkdir one")] }, { text: "never said" }));
    session.answer(await session.ask(), { behavior: "deny", message: "stop", interrupt: true });
    await session.result();
  },

  async "broken-line"(session) {
    await session.start();
    session.program.send('{"type":"user","message":');
    assert.equal(await session.program.ended, 1);
  },
};
