/** The provider's own limit: the turn is taken up where it was, at a person's word or by itself when the limit resets. */
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { statusOf } from "../../shared/agent/fold.ts";
import { bash, openThreads, says } from "../support/agent-threads.ts";
import { BYPASS_CONFIG, script, wordsOf } from "../support/agents.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { until } from "../support/wait.ts";

// Several starts of runner and engine each: on a busy machine they take a while.
vi.setConfig({ testTimeout: 60_000 });

const open = openThreads();
let sidecar: TestSidecar | undefined;
afterEach(async () => {
  await sidecar?.close();
  sidecar = undefined;
});

const refused = (limit: object = {}) => ({ error: { status: 429, limit } });
const effect = { tools: [bash("echo once >> ran")] };
const answers = { permissionMode: "bypassPermissions" };

test("it asks when to go on, keeps no process, and Go on now takes the turn up where it was", async () => {
  const thread = open({ agent: answers, timeouts: { idleSeconds: 1 } });
  thread.write(says("work", effect, refused({ resetsInSeconds: 5_000 }), { text: "Done." }));
  thread.start();
  const request = await thread.event("permission_request");
  expect(await thread.ended()).toBe(0);
  expect(thread.engineProcesses()).toEqual([]);
  expect(statusOf(thread.fold())).toBe("waiting");
  expect(request).toMatchObject({
    title: "You've hit your 5-hour limit",
    limit: { name: "provider", resetsAt: expect.any(String) },
  });
  expect(request.options.map(({ name }) => name)).toEqual([
    expect.stringMatching(/^Go on at (\d+ \w+, )?\d\d:\d\d$/),
    "Go on now",
    "Stop here",
  ]);
  // Nobody has answered: what is written meanwhile waits, and begins nothing.
  const later = thread.write("And this.");
  thread.start();
  expect(await thread.ended()).toBe(0);
  expect(thread.of("engine_start")).toHaveLength(1);
  thread.answer(request.requestId, "more");
  thread.start();
  await thread.ended();
  expect(thread.of("agent_message").map(({ text }) => text)).toContain("Done.");
  expect(readFileSync(join(thread.dir, "ran"), "utf8")).toBe("once\n");
  expect(thread.of("delivery").map(({ messageIds }) => messageIds)).toContainEqual([later]);
  expect(statusOf(thread.fold())).toBe("idle");
});

test("without a told moment it can only be let go on; that is what resume does too, and Stop here ends the turn", async () => {
  const thread = open({ agent: answers });
  thread.write(says("work", refused(), refused(), { text: "Done." }));
  thread.start();
  const first = await thread.event("permission_request");
  expect(first.options.map(({ name }) => name)).toEqual(["Go on", "Stop here"]);
  await thread.ended();
  thread.control("resume");
  thread.start();
  // The model's first answer after that is refused as well.
  const second = await thread.event("permission_request", 2);
  await thread.ended();
  expect(thread.of("permission_response")).toMatchObject([{ requestId: first.requestId, by: "discord:7" }]);
  thread.answer(second.requestId, "stop");
  thread.start();
  await thread.ended();
  expect(statusOf(thread.fold())).toBe("idle");
  expect(thread.of("agent_message")).toEqual([]);
});

// Promise: R18
test("told to, it goes on by itself at that moment, though everything was ended and started meanwhile", async () => {
  sidecar = await startSidecar(BYPASS_CONFIG);
  const { client, reposDir } = sidecar;
  const begin = async (threadId: string) => {
    mkdirSync(join(reposDir, threadId));
    const command = script("Work", refused({ resetsInSeconds: 15 }), { text: "Done." });
    await client.createThread({ threadId, type: "agent", dir: threadId, command });
    return until(`${threadId} to ask`, async () => (await client.listAsks(threadId))[0]);
  };
  const { requestId } = await begin("one");
  await client.answerAsk("one", requestId, { optionId: "at" });
  await until("it to wait", async () => (await client.getThread("one")).status === "queued");
  expect((await client.getThread("one")).doing).toMatch(/^Going on at \d\d:\d\d$/);
  await sidecar.restart();
  expect((await sidecar.client.getThread("one")).status).toMatch(/queued|running|idle/);
  const mine = sidecar;
  const isDone = async () => (await wordsOf(mine, "one")).includes("Done.");
  await until("it to be done", isDone, { timeoutMs: 40_000 });
});
