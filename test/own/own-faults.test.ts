/** The engine `own` when its model, or whoever set it up, does something wrong; and a conversation that gets too long. */
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import { statusOf } from "../../shared/agent/fold.ts";
import { openThreads, says, type ThreadOptions } from "../support/agent-threads.ts";
import { bash, envOf, killAll, modelOfFile, ownOptions, WIRES } from "../support/own-agent.ts";

const openThread = openThreads();
const model = modelOfFile();

const open = (env = envOf("openai-compatible", model.url), agent: ThreadOptions["agent"] = {}) =>
  openThread(ownOptions(env, { agent }));

test("a cut stream is tried again; calls that are no JSON or of no tool are told, and the turn goes on", async () => {
  const thread = open();
  model.faults.push({ isCut: true }, { rawArguments: '{"command": oops' });
  const rounds = [{ tools: [bash("echo")] }, { tools: [{ name: "teleport", input: {} }] }, { text: "Done." }];
  thread.write(says("go", ...rounds));
  thread.start();
  expect(await thread.event("turn_end")).toMatchObject({ stopReason: "end_turn" });
  const { title } = await thread.event("notice");
  expect(title).toMatch(
    /^the server \(http:.*\) broke off in the midst of its answer\. Trying again in \d\.\d s\.$/,
  );
  expect(thread.of("tool_call_update").map(({ status }) => status)).toEqual(["failed", "failed"]);
  expect(thread.of("permission_request")).toEqual([]);
  expect(model.timesInContext("could not be read")).toBe(1);
  expect(model.timesInContext('There is no tool "teleport". There are: read, ')).toBe(1);
});

test("an answer that takes longer than params.callSeconds is asked for again, in words", async () => {
  const thread = open(undefined, { params: { callSeconds: 1 } });
  const go = join(thread.dir, "go");
  thread.write(says("go", { text: "Here.", waitFor: go }));
  thread.start();
  const { title } = await thread.event("notice");
  expect(title).toMatch(
    /^the server \(http:.*\): its answer was not there after 1 s \(params\.callSeconds\)\. Trying again/,
  );
  writeFileSync(go, "");
  expect(await thread.event("turn_end")).toMatchObject({ stopReason: "end_turn" });
  expect(thread.of("agent_message").map(({ text }) => text)).toEqual(["Here."]);
});

test("without a key, and with an address of nothing, a sentence says what to do; the next message tries again", async () => {
  const thread = open({});
  thread.write("hi");
  thread.start();
  const end = await thread.event("turn_end");
  expect(end).toMatchObject({
    stopReason: "error",
    error: expect.stringContaining("THREAD_ENV=ANTHROPIC_API_KEY"),
  });
  expect(statusOf(thread.fold())).toBe("failed");
  thread.control("model", { model: "openai/gpt-6-sol" });
  thread.write("hi again");
  expect((await thread.event("turn_end", 2)).error).toMatch(/no key for OpenAI\. Set OPENAI_API_KEY/);
});

test.each(WIRES)(
  "%s: what the provider refuses is told in the turn's end; the next message goes on",
  async (wire) => {
    const thread = open(envOf(wire, model.url));
    const refusals: [number, string, RegExp][] = [
      [400, "prompt is too long: 9 > 8", /^The conversation is longer than [\w-]+ can read\./],
      [
        401,
        "invalid x-api-key",
        /^\S.* does not take the key in [A-Z_]+_API_KEY \(401\)\. It says: invalid x-api-key/,
      ],
      [404, "model: nothing", /^\S.* knows no model "[\w-]+" \(404\)\./],
      [400, "Your credit balance is too low", /^\S.* lets this account call no model: no credit is left\./],
    ];
    for (const [at, [status, message, sentence]] of refusals.entries()) {
      model.faults.push({ refuses: { status, message } });
      thread.write(`message ${at}.`);
      if (!thread.runner) thread.start();
      const end = await thread.event("turn_end", at + 1);
      expect(end).toMatchObject({ stopReason: "error", error: expect.stringMatching(sentence) });
      expect(end.error).not.toContain("a-dummy-key");
      expect(statusOf(thread.fold())).toBe("failed");
    }
    expect(thread.of("notice")).toEqual([]); // none of them is tried again
    thread.write(says("and now?", { text: "Now it goes." }));
    expect(await thread.event("turn_end", 5)).toMatchObject({ stopReason: "end_turn" });
    expect(statusOf(thread.fold())).toBe("idle");
    expect(["message 0.", "message 3."].map((text) => model.timesInContext(text))).toEqual([1, 1]);
  },
);

test("an address at which nothing answers is named, with what is tried again; Stop ends the tries", async () => {
  const gone = createServer();
  await new Promise<void>((resolve) => gone.listen(0, "127.0.0.1", resolve));
  const { port } = gone.address() as AddressInfo;
  await new Promise((resolve) => gone.close(resolve));
  const thread = open(envOf("anthropic", `http://127.0.0.1:${port}`));
  thread.write("hi");
  thread.start();
  const { title } = await thread.event("notice");
  expect(title).toMatch(
    /^Nothing answers at Anthropic \(http:\/\/127\.0\.0\.1:\d+\) \(ECONNREFUSED\)\. Trying again in \d\.\d s\.$/,
  );
  thread.control("interrupt");
  expect(await thread.event("turn_end")).toMatchObject({ stopReason: "cancelled" });
});

test("a conversation is made shorter on demand, and goes on from its summary, also after a kill", async () => {
  const thread = open();
  thread.write(says("first words", { text: "An answer of many words. ".repeat(40) }));
  thread.start();
  await thread.event("turn_end");
  thread.write(says("second words", { text: "Another one." }));
  await thread.event("turn_end", 2);
  thread.control("compact", { text: "the colours" });
  expect(await thread.event("compaction_update", 2)).toMatchObject({
    status: "completed",
    trigger: "manual",
  });
  expect(model.timesInContext("Keep above all: the colours")).toBe(1);
  await killAll(thread);
  thread.write(says("third words", { text: "And on." }));
  await thread.eventOfRunners("turn_end", 3);
  expect(
    ["first words", "<summary>", "second words", "third words"].map((text) => model.timesInContext(text)),
  ).toEqual([0, 2, 1, 1]);
});
