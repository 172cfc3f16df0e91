/** Limits of a thread: what they stop, what they ask, and that no restart forgets what was used. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { statusOf } from "../../shared/agent/fold.ts";
import { usedOf } from "../../shared/agent/limits.ts";
import { AgentThread, bash, says } from "../support/agent-threads.ts";
import { until } from "../support/wait.ts";

// Several starts of runner and engine each: on a busy machine they take a while.
vi.setConfig({ testTimeout: 60_000 });

let thread: AgentThread;
afterEach(() => thread?.close());

const limited = (limits: object, more: object = {}) =>
  new AgentThread({
    agent: { limits, permissionMode: "bypassPermissions" },
    timeouts: { idleSeconds: 1 },
    ...more,
  });

/** Waits for the thread's ask number `count`, and until no process of it is left. */
async function ask(count = 1) {
  if (!thread.runner) thread.start();
  const request = await thread.event("permission_request", count);
  expect(await thread.ended()).toBe(0);
  expect(statusOf(thread.fold())).toBe("waiting");
  return request;
}

async function idle() {
  if (!thread.runner) thread.start();
  await thread.ended();
  expect(statusOf(thread.fold())).toBe("idle");
}

const words = () => thread.of("agent_message").map(({ text }) => text);
/** How often each of these effects has happened. */
const ran = () => (existsSync(join(thread.dir, "ran")) ? readFileSync(join(thread.dir, "ran"), "utf8") : "");
const effect = (name: string | number) => bash(`echo ${name} >> ran`);
const used = () => usedOf(thread.fold(), Date.now());

test("one turn is allowed: the second message asks, and Continue lets it run", async () => {
  thread = limited({ turns: 1 });
  thread.write(says("one", { text: "First." }));
  await idle();
  thread.write(says("two", { text: "Second." }));
  const request = await ask();
  expect(request).toMatchObject({
    toolName: "Limit",
    title: "The thread has reached its limit of 1 turn. Continue with as much again?",
    limit: { name: "turns", allowed: 1, used: 1 },
    options: [
      { optionId: "more", name: "Continue with 1 turn more" },
      { optionId: "stop", name: "Stop here" },
    ],
  });
  expect(words()).toEqual(["First."]);
  thread.answer(request.requestId, "more");
  await idle();
  expect(words()).toEqual(["First.", "Second."]);
  thread.write(says("three", { text: "Third." }));
  expect(await ask(2)).toMatchObject({ limit: { name: "turns", allowed: 2, used: 2 } });
});

test("two calls of the model are allowed: between the second and the third it asks, and all that ran has run once", async () => {
  thread = limited({ calls: 2 });
  const rounds = [1, 2, 3].map((n) => ({ tools: [effect(n)] }));
  thread.write(says("go", ...rounds, { text: "Done." }));
  const request = await ask();
  expect(request).toMatchObject({
    title: "The thread has reached its limit of 2 calls of the model. Continue with as much again?",
    limit: { name: "calls", allowed: 2, used: 2 },
  });
  expect(ran()).toBe("1\n2\n");
  thread.answer(request.requestId, "more");
  await idle();
  expect([ran(), words()]).toEqual(["1\n2\n3\n", ["Done."]]);
  expect(used().calls).toBe(4);
});

test("a limit that is changed while its ask is open closes the ask, and the thread goes on as far as it may", async () => {
  thread = limited({ turns: 1 });
  thread.write(says("one", { text: "First." }));
  await idle();
  thread.write(says("two", { text: "Second." }));
  const first = await ask();
  thread.control("limit", { op: "limit", limits: { turns: null } });
  await idle();
  expect(words()).toEqual(["First.", "Second."]);
  expect(thread.of("permission_response")).toMatchObject([
    { requestId: first.requestId, outcome: "cancelled", reason: "replaced" },
  ]);
  // One that is too low asks again, with what holds now.
  thread.control("limit", { op: "limit", limits: { turns: 1 } });
  thread.write(says("three", { text: "Third." }));
  expect(await ask(2)).toMatchObject({ limit: { allowed: 1, used: 2 } });
  thread.control("limit", { op: "limit", limits: { turns: 2 } });
  expect(await ask(3)).toMatchObject({ limit: { allowed: 2, used: 2 } });
  thread.control("limit", { op: "limit", limits: { turns: 3 } });
  await idle();
  expect(words()).toEqual(["First.", "Second.", "Third."]);
});

test("two limits reached at once: each taken away in its turn, or both, lets the thread go on", async () => {
  thread = limited({ turns: 1, tokens: 1 });
  thread.write(says("one", { text: "First." }));
  await idle();
  thread.write(says("two", { text: "Second." }));
  const first = await ask();
  const { name = "" } = first.limit ?? {};
  const other = name === "turns" ? "tokens" : "turns";
  thread.control("one", { op: "limit", limits: { [name]: null } });
  const second = await ask(2);
  expect([name, second.limit?.name].sort()).toEqual(["tokens", "turns"]);
  expect(thread.of("permission_response")).toMatchObject([
    { requestId: first.requestId, outcome: "cancelled", reason: "replaced" },
  ]);
  // Both in one wish, one of them given anew.
  thread.control("both", { op: "limit", limits: { [name]: 1_000_000, [other]: null } });
  await idle();
  expect(words()).toEqual(["First.", "Second."]);
});

test("a turn that waits at a limit is taken up when the limit goes", async () => {
  thread = limited({ tokens: 1 });
  thread.write(says("work", { tools: [effect("a")] }, { text: "done" }));
  await ask();
  thread.control("limit", { op: "limit", limits: { tokens: null } });
  await idle();
  expect(words()).toEqual(["done"]);
  expect(ran()).toBe("a\n");
});

test("Stop here ends it without a process; the next message asks again", async () => {
  thread = limited({ turns: 1 });
  thread.write(says("one", { text: "First." }));
  await idle();
  thread.write(says("two", { text: "Second." }));
  thread.answer((await ask()).requestId, "stop");
  await idle();
  expect(words()).toEqual(["First."]);
  thread.write(says("three", { text: "Third." }));
  thread.answer((await ask(2)).requestId, "more");
  await idle();
  // What had waited goes in with it, as one turn.
  expect(words()).toEqual(["First.", "Second."]);
  expect(thread.of("delivery").at(-1)?.messageIds).toHaveLength(2);
});

test.each([
  ["spendUsd", 0.1, { inputTokens: 10_000, outputTokens: 500 }],
  ["tokens", 25_000, { inputTokens: 10_000, outputTokens: 500 }],
] as const)(
  "a turn that reaches its %s stops between two calls, and goes on there",
  async (name, allowed, call) => {
    thread = limited({ [name]: allowed });
    const calls = Array.from({ length: 5 }, (_, i) => ({ tools: [effect(i)], ...call }));
    thread.write(says("work", ...calls, { text: "Done.", ...call }));
    const perCall = name === "tokens" ? 10_500 : 0.05;
    const first = await ask();
    expect(first.limit?.name).toBe(name);
    // Reached by a call, and its effects are whole; no further call was made.
    expect(used()[name]).toBeGreaterThanOrEqual(allowed);
    expect(used()[name]).toBeLessThan(allowed + perCall + 1e-9);
    const before = ran();
    thread.answer(first.requestId, "more");
    const second = await ask(2);
    expect(second.limit?.allowed).toBeCloseTo(2 * allowed, 9);
    expect(used()[name]).toBeLessThan(2 * allowed + perCall + 1e-9);
    expect(ran().startsWith(before)).toBe(true);
    thread.answer(second.requestId, "more");
    await idle();
    expect(ran()).toBe("0\n1\n2\n3\n4\n");
    expect(words()).toEqual(["Done."]);
    expect(used()[name]).toBeCloseTo(6 * perCall, 6);
  },
);

test("seconds count while turns run, not while people are waited for", async () => {
  thread = limited({ seconds: 1 });
  thread.write(
    says(
      "work",
      { tools: [bash("timeout 1.2 tail -f /dev/null")] },
      { tools: [effect(1)] },
      { text: "Done." },
    ),
  );
  const request = await ask();
  expect(request.limit).toMatchObject({ name: "seconds", allowed: 1 });
  expect(ran()).toBe("");
  const before = used().seconds;
  expect(before).toBeGreaterThanOrEqual(1);
  await until("some time", () => used().seconds === before && Date.now() - Date.parse(request.ts) > 500);
  // A busy machine may need more than another second.
  await until("it to be done", () => {
    const open = thread.fold().asks[0];
    if (open && !thread.runner) thread.answer(open.requestId, "more");
    if (!thread.runner) thread.start();
    return words().length > 0;
  });
  await idle();
  expect(words()).toEqual(["Done."]);
});
