/** Conversations whose program is killed, and resumed or ended in order. */
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "../support/wait.ts";
import { bash, type Session, says } from "./session.ts";

export const RESUME = {
  CLAUDE_CODE_RESUME_INTERRUPTED_TURN: "1",
  CLAUDE_CODE_RESUME_SHOWS_CUT_OFF_CALLS: "1",
};

export const cutOff: Record<string, (session: Session) => Promise<void>> = {
  async "kill-in-tool"(session) {
    await session.start(["--allowedTools", "Bash"]);
    session.send(says("run", { tools: [bash("touch begun; tail -f /dev/null")] }, { text: "told" }));
    await until("the command to run", () => existsSync(join(session.cwd, "begun")));
    await session.saved((line) => line.type === "assistant");
    await session.program.kill();
    await session.start(["--allowedTools", "Bash"], { resume: true, env: RESUME });
    await session.result();
  },

  async "kill-in-ask"(session) {
    await session.start();
    session.send(says("make", { text: "Making.", tools: [bash("mkdir one")] }, { text: "made" }));
    const { request } = await session.ask();
    await session.saved((line) => line.type === "assistant");
    await session.program.kill();
    const again = "These calls were waiting for permission and did NOT run; call them again:";
    const prompt = `The session was restarted. ${again}\n- Bash ${JSON.stringify(request.input)}`;
    await session.start([], { resume: true, env: { ...RESUME, CLAUDE_CODE_RESUME_PROMPT: prompt } });
    session.allow(await session.ask());
    await session.result();
    assert.equal(existsSync(join(session.cwd, "one")), true);
  },

  async "kill-in-answer"(session) {
    await session.start();
    session.send(says("hi", { text: "Hello." }));
    await session.result();
    const go = join(session.home, "go");
    const uuid = session.send(says("talk", { text: "said", waitFor: go }));
    await until("the message to be saved", () => session.isSaved(uuid));
    await session.program.kill();
    writeFileSync(go, "");
    await session.start([], { resume: true, env: RESUME });
    await session.result();
  },

  async "kill-after-tool"(session) {
    await session.start(["--allowedTools", "Bash"]);
    const go = join(session.home, "go");
    session.send(says("run", { tools: [bash("touch ran")] }, { text: "said", waitFor: go }));
    await session.until("the result", (line) => line.type === "user" && "tool_use_result" in line);
    await session.saved((line) => "tool_use_result" in line);
    await session.program.kill();
    writeFileSync(go, "");
    await session.start(["--allowedTools", "Bash"], { resume: true, env: RESUME });
    await session.result();
  },

  async "kill-mid-turn"(session) {
    await session.start(["--allowedTools", "Bash"]);
    const go = join(session.home, "go");
    const wait = "touch begun; until [ -e go ]; do read -t 0.05 <> <(:) || :; done";
    session.send(says("run", { tools: [bash(wait)] }, { text: "heard", waitFor: go }));
    await until("the command to run", () => existsSync(join(session.cwd, "begun")));
    const second = session.send("and this");
    await session.until(
      "the message queued",
      (line) => line["command_uuid"] === second && line["state"] === "queued",
    );
    writeFileSync(join(session.cwd, "go"), "");
    await until("the message to be saved", () => session.isSaved(second));
    await session.program.kill();
    writeFileSync(go, "");
    await session.start(["--allowedTools", "Bash"], { resume: true, env: RESUME });
    await session.result();
  },

  async "resume-quiet"(session) {
    await session.start();
    const uuid = session.send(says("hi", { text: "Hello." }));
    await session.result();
    await session.end();
    await session.start([], { resume: true, env: RESUME });
    session.send(says("hi", { text: "Hello." }), { uuid });
    await session.until("it to be dropped", (line) => line["state"] === "completed");
    session.send(says("more", { text: "More." }));
    await session.result();
  },
};

/**
 * The program saves a call some 50 ms after it has begun it. Killed before that, it does not know of the call when it
 * is resumed, and the model calls again: the effect happens twice. A hook before the call can wait for the file.
 */
export async function effectHappensOnce(session: Session): Promise<void> {
  const hooks = { PreToolUse: [{ hookCallbackIds: ["pre"], timeout: 3600 }] };
  const effects = join(session.cwd, "effects");
  const rounds = [{ tools: [bash("echo x >> effects; tail -f /dev/null")] }, { text: "told" }];
  await session.start(["--allowedTools", "Bash"], { initialize: { hooks } });
  session.send(says("run", ...rounds));
  const hook = await session.next("control_request", "hook_callback");
  await session.saved((line) => line.type === "assistant");
  session.answer(hook, {});
  await until("the effect", () => existsSync(effects) && readFileSync(effects, "utf8").endsWith("\n"));
  await session.program.kill();
  await session.start(["--allowedTools", "Bash"], { initialize: { hooks }, resume: true, env: RESUME });
  assert.equal((await session.result())["result"], "told");
  assert.equal(readFileSync(effects, "utf8"), "x\n");
}

/**
 * A turn whose end was printed is in the conversation on disk, whatever is killed then: nobody looks for it again.
 * The program is killed as soon as its end is read, so one that saves only then is caught, though not each time.
 */
export async function endIsPrintedWhenSaved(session: Session): Promise<void> {
  const start = () => session.start([], { resume: session.isBegun, env: RESUME });
  const never = join(session.home, "never");
  for (const text of ["one", "two", "three", "four"]) {
    await start();
    const uuid = session.send(says(text, { text: `said ${text}` }));
    await session.result();
    await session.program.kill();
    assert.deepEqual([text, session.isSaved(uuid)], [text, true]);
  }
  await start();
  const first = session.send(
    says("begin", { text: "said in two pieces, at the very least", pauseFor: never }),
  );
  await session.until("the first piece", (line) => JSON.stringify(line).includes("text_delta"));
  await session.control("interrupt");
  await session.result();
  await session.program.kill();
  assert.equal(session.isSaved(first), true);
}
