/** The real program at a limit: held between two calls of the model, terminated there, and taken up again. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { usedOf } from "../../shared/agent/limits.ts";
import { type AgentThread, bash, says } from "../support/agent-threads.ts";
import { signal } from "../support/processes.ts";
import { realThreads } from "./real-threads.ts";

const CALL = { inputTokens: 10_000, outputTokens: 100 };

const real = realThreads();
let thread: AgentThread;

function open(limits: object): void {
  const agent = { limits, permissionMode: "bypassPermissions" };
  thread = real.open({ agent, timeouts: { idleSeconds: 1 } });
}

const used = () => usedOf(thread.fold(), Date.now());

/** What one call of the model costs, as the program says it. */
async function priceOfCall(): Promise<number> {
  open({});
  thread.write(says("hi", { text: "Hello.", ...CALL }));
  thread.start();
  await thread.ended();
  const { spendUsd } = used();
  await thread.close();
  expect(spendUsd).toBeGreaterThan(0);
  return spendUsd;
}

test.each(["spendUsd", "tokens"] as const)(
  "a limit of %s: it stops after the call that reached it, and goes on",
  async (name) => {
    const perCall = name === "tokens" ? CALL.inputTokens + CALL.outputTokens : await priceOfCall();
    const calledBefore = real.model.requests.length;
    open({ [name]: 2.5 * perCall });
    const work = [0, 1, 2, 3].map((i) => ({ tools: [bash(`echo ${i} >> ran; echo b${i} >> ran`)], ...CALL }));
    thread.write(says("work", ...work, { text: "Done.", ...CALL }));
    thread.start();
    const { requestId, limit } = await thread.event("permission_request");
    expect(await thread.ended()).toBe(0);
    expect(limit?.name).toBe(name);
    // Three calls, each with its effects; their cost is told, not guessed.
    expect(real.model.requests.length - calledBefore).toBe(3);
    expect(used()[name]).toBeCloseTo(3 * perCall, 6);
    const ran = () => readFileSync(join(thread.dir, "ran"), "utf8").trim().split("\n");
    expect(ran()).toEqual(["0", "b0", "1", "b1", "2", "b2"]);

    thread.answer(requestId, "more");
    thread.start();
    await thread.ended();
    expect(ran()).toEqual(["0", "b0", "1", "b1", "2", "b2", "3", "b3"]);
    expect(thread.of("agent_message").map(({ text }) => text)).toEqual(["Done."]);
    expect(real.model.requests.length - calledBefore).toBe(5);
    expect(used()[name]).toBeCloseTo(5 * perCall, 6);
  },
);

test("what it cost counts after a kill too, though it forgets that itself", async () => {
  const perCall = await priceOfCall();
  open({ turns: 9 });
  for (let turn = 1; turn <= 3; turn++) {
    thread.write(says("hi", { text: "Hello.", ...CALL }));
    thread.start();
    await thread.event("turn_end", turn);
    const engine = thread.enginePid();
    if (turn < 3 && engine) signal(engine, "SIGKILL");
    await thread.ended();
    expect(used().spendUsd).toBeCloseTo(turn * perCall, 6);
  }
});
