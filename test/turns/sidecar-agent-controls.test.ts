/** What callers of the sidecar do with an agent that works: pause it, resume it, change how it goes on. */
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  BYPASS_CONFIG,
  openAgent,
  STAND_IN_CONFIG,
  script,
  transcriptOf,
  untilStatus,
  wordsOf,
} from "../support/agents.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { refusal } from "../support/threads.ts";
import { until } from "../support/wait.ts";

let sidecar: TestSidecar;
beforeAll(async () => {
  sidecar = await startSidecar(STAND_IN_CONFIG);
});
afterAll(() => sidecar?.close());

const bash = (command: string) => ({ tools: [{ name: "Bash", input: { command } }] });

interface Line {
  op: string;
  control?: string;
}

function inboxOf(threadId: string): Line[] {
  const text = readFileSync(join(sidecar.stateDir, "threads", threadId, "inbox.jsonl"), "utf8");
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Line);
}

test("a paused agent takes no message; resumed with one, both are stored together and it goes on", async () => {
  const { client } = sidecar;
  await openAgent(sidecar, "held", script("Do it", bash("touch held"), { text: "Done." }));
  const ask = await until("an ask", async () => (await client.listAsks("held"))[0]);
  await client.controlAgent("held", { control: "pause" });
  expect(await refusal(client.sendInput("held", { text: "too early", inputId: "m1" }))).toMatchObject({
    code: "thread_paused",
  });
  await untilStatus(sidecar, "held", "paused");
  expect(await refusal(client.sendInput("held", { text: "still", inputId: "m1" }))).toMatchObject({
    code: "thread_paused",
  });
  await client.answerAsk("held", ask.requestId, { optionId: "once" });
  expect(existsSync(join(sidecar.reposDir, "held", "held"))).toBe(false);

  const input = { text: "And tell me.", inputId: "m1" };
  await client.controlAgent("held", { control: "resume", input });
  expect(
    inboxOf("held")
      .slice(-2)
      .map(({ op, control }) => control ?? op),
  ).toEqual(["resume", "message"]);
  await until("its words", async () => (await wordsOf(sidecar, "held")).includes("Done."));
  await untilStatus(sidecar, "held", "idle");
  const delivered = (await transcriptOf(sidecar, "held")).filter(({ type }) => type === "delivery");
  expect(delivered).toMatchObject([{}, { messageIds: ["m1"] }]);
  expect(existsSync(join(sidecar.reposDir, "held", "held"))).toBe(true);

  // A caller whose reply was lost asks again, when somebody has paused the thread anew.
  await client.controlAgent("held", { control: "pause" });
  await client.controlAgent("held", { control: "resume", input });
  await untilStatus(sidecar, "held", "paused");
});

test("a message that is refused resumes nothing", async () => {
  const { client } = sidecar;
  await openAgent(sidecar, "quiet", script("Hi", { text: "Hi." }));
  await untilStatus(sidecar, "quiet", "idle");
  await client.controlAgent("quiet", { control: "pause" });
  const resume = { control: "resume", input: { text: "  " } } as const;
  expect(await refusal(client.controlAgent("quiet", resume))).toMatchObject({ code: "invalid_request" });
  await untilStatus(sidecar, "quiet", "paused");
  expect(inboxOf("quiet").at(-1)).toMatchObject({ op: "pause" });
});

// Promise: S10
test("modes that nobody knows, or that this thread can't have, are refused with the reason", async () => {
  const { client } = sidecar;
  await openAgent(sidecar, "modes", script("Hi", { text: "Hi." }));
  const mode = (modeId: string) => client.controlAgent("modes", { control: "mode", modeId });
  await expect(mode("yolo")).rejects.toMatchObject({
    code: "invalid_request",
    message: expect.stringContaining("modeId: must be one of plan, dontAsk, default, acceptEdits"),
  });
  await expect(mode("bypassPermissions")).rejects.toMatchObject({
    code: "unsupported",
    message: expect.stringContaining("ALLOW_BYPASS=1"),
  });
  const create = (permissionMode: string) =>
    client.createThread({
      ...{ threadId: "modes2", type: "agent", dir: "modes", command: "hi" },
      agent: { permissionMode },
    });
  await expect(create("bypassPermissions")).rejects.toMatchObject({
    code: "unsupported",
    message: expect.stringContaining("agent.permissionMode: bypassPermissions"),
  });
  await expect(create("yolo")).rejects.toThrow("agent.permissionMode: must be one of");
  await mode("acceptEdits");
  expect(await refusal(client.controlAgent("nobody", { control: "pause" }))).toMatchObject({
    code: "not_found",
  });
});

test("steps are read from either end, and a thread says what it does now", async () => {
  const { client } = sidecar;
  const steps = [1, 2, 3].map((n) => bash(`touch ${n}`));
  await openAgent(
    sidecar,
    "steps",
    script("Do it", ...steps, bash("touch 4; tail -f /dev/null"), { text: "Never." }),
  );
  for (const n of [1, 2, 3, 4]) {
    const ask = await until(`ask ${n}`, async () => (await client.listAsks("steps"))[0]);
    await client.answerAsk("steps", ask.requestId, { optionId: "once" });
    await until(`answer ${n}`, async () => (await client.listAsks("steps"))[0]?.requestId !== ask.requestId);
  }
  await until("the last call", async () => (await client.getThread("steps")).status === "running");
  const thread = await client.getThread("steps");
  expect(thread.doing).toContain("tail -f");
  expect(Date.parse(thread.activeAt ?? "")).toBeGreaterThan(Date.parse(thread.createdAt) - 1);
  const all = await client.listSteps("steps");
  const middle = all[4]?.seq ?? 0;
  expect(await client.listSteps("steps", { beforeSeq: middle, limit: 2 })).toEqual(all.slice(2, 4));
  expect(await client.listSteps("steps", { afterSeq: middle, limit: 2 })).toEqual(all.slice(5, 7));
  await client.killThread("steps");
  expect((await client.getThread("steps")).doing).toBeNull();
});

// Promise: S11
test("rules that were granted are listed and withdrawn, over restarts; what was not granted is refused", async () => {
  const { client } = sidecar;
  const make = (name: string) => script(`Make ${name}`, bash(`mkdir made ${name}`), { text: "Made." });
  const ask = () => until("an ask", async () => (await client.listAsks("ruled"))[0]);
  await openAgent(sidecar, "ruled", script("Make", bash("mkdir made"), { text: "Made." }));
  await client.answerAsk("ruled", (await ask()).requestId, { optionId: "thread" });
  await untilStatus(sidecar, "ruled", "idle");
  const [rule = ""] = await client.listRules("ruled");
  expect(rule).toBe("Bash(mkdir made *)");
  await sidecar.restart();
  expect(await client.listRules("ruled")).toEqual([rule]);
  const withdraw = (...rules: string[]) =>
    client.controlAgent("ruled", { control: "rules", withdraw: rules });
  expect(await refusal(withdraw("Bash(rm *)"))).toMatchObject({ code: "not_found" });
  expect(await refusal(client.listRules("nobody"))).toMatchObject({ code: "not_found" });
  await withdraw(rule);
  await until("the rule to be gone", async () => (await client.listRules("ruled")).length === 0);
  expect(await refusal(withdraw(rule))).toMatchObject({ code: "not_found" });
  await client.sendInput("ruled", { text: make("more") });
  await client.answerAsk("ruled", (await ask()).requestId, { optionId: "no" });
  await untilStatus(sidecar, "ruled", "idle");
  expect(existsSync(join(sidecar.reposDir, "ruled", "more"))).toBe(false);
  await client.killThread("ruled");
});

// Promise: S10
test("an agent that may do everything unasked asks again once the sidecar does not allow that any more", async () => {
  const { client, reposDir } = sidecar;
  await sidecar.restart(BYPASS_CONFIG);
  mkdirSync(join(reposDir, "free"));
  await client.createThread({
    ...{
      threadId: "free",
      type: "agent",
      dir: "free",
      command: script("1", bash("touch 1")),
    },
    agent: { permissionMode: "bypassPermissions" },
  });
  await until("the first file", () => existsSync(join(reposDir, "free", "1")));
  await untilStatus(sidecar, "free", "idle");
  await sidecar.restart(STAND_IN_CONFIG);
  await client.sendInput("free", { text: script("2", bash("touch 2")) });
  const ask = await until("an ask", async () => (await client.listAsks("free"))[0]);
  expect(existsSync(join(reposDir, "free", "2"))).toBe(false);
  await client.answerAsk("free", ask.requestId, { optionId: "no" });
  await client.killThread("free");
});
