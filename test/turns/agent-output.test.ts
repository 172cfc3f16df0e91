/** An agent's result by a schema: from the request over the engine to the turn's end. */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Round } from "../../agent/engines/demo/script.ts";
import type { EventOf } from "../../shared/agent/events.ts";
import { openAgent, STAND_IN_CONFIG, script, transcriptOf, untilStatus } from "../support/agents.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { untilValue } from "../support/wait.ts";

let sidecar: TestSidecar;
beforeAll(async () => {
  sidecar = await startSidecar(STAND_IN_CONFIG);
});
afterAll(() => sidecar?.close());

const outputSchema = {
  type: "object",
  required: ["line"],
  properties: { line: { type: "integer" }, name: { type: "string", pattern: "^(a+)+$" } },
};

async function untilEnd(threadId: string, count: number): Promise<EventOf<"turn_end">> {
  const ends = await untilValue(
    `turn ${count} to end`,
    async () => (await transcriptOf(sidecar, threadId)).filter((event) => event.type === "turn_end"),
    ({ length }) => length >= count,
  );
  const end = ends[count - 1];
  if (!end) throw new Error("no such turn");
  return end;
}

/** What the thread's row says of the last turn's result. */
async function rowOf(threadId: string) {
  const listed = (await sidecar.client.listThreads()).find((thread) => thread.threadId === threadId);
  const { output } = await sidecar.client.getThread(threadId);
  expect(listed?.output).toEqual(output);
  return output;
}

async function say(threadId: string, count: number, round: Round): Promise<EventOf<"turn_end">> {
  await sidecar.client.sendInput(threadId, { text: script("and", round) });
  return await untilEnd(threadId, count);
}

// Promise: S49
test("each turn's result is held to the schema; what does not fit is said and kept, and the thread goes on", async () => {
  await openAgent(sidecar, "list", script("go", { text: "Here.", output: { line: 7 } }), {
    agent: { outputSchema },
  });
  const valid = await untilEnd("list", 1);
  expect(valid).toMatchObject({ stopReason: "end_turn", output: "valid", result: { line: 7 } });
  expect(valid.error).toBeUndefined();
  expect(await rowOf("list")).toBe("valid");
  expect(await say("list", 2, { text: "Words.", output: { line: "7" } })).toMatchObject({
    stopReason: "end_turn",
    output: "invalid_output",
    result: { line: "7" },
    error: "No valid result (invalid_output): /line must be integer.",
  });
  expect(await rowOf("list")).toBe("invalid_output");
  expect(await say("list", 3, { text: "Only words." })).toMatchObject({
    output: "invalid_output",
    error: "No valid result (invalid_output): the agent gave none.",
  });
  const hostile = { line: 1, name: `${"a".repeat(60)}!` };
  expect(await say("list", 4, { text: "Wait.", output: hostile })).toMatchObject({
    output: "invalid_output",
    result: hostile,
    error: "No valid result (invalid_output): can't be checked within 2 seconds.",
  });
  expect(await say("list", 5, { text: "So.", output: { line: 1, name: "aa" } })).toMatchObject({
    output: "valid",
  });
  const words = (await transcriptOf(sidecar, "list")).flatMap((event) =>
    event.type === "agent_message" ? [event.text] : [],
  );
  expect(words).toEqual(["Here.", "Words.", "Only words.", "Wait.", "So."]);
  await untilStatus(sidecar, "list", "idle");
  expect(await rowOf("list")).toBe("valid");
  await sidecar.client.killThread("list");
  expect((await sidecar.client.getThread("list")).output).toBe("valid");
});

test("a schema of very many words takes nothing away from the thread's limits", async () => {
  const words = { enum: Array.from({ length: 9_400 }, (_, n) => `${n}`) };
  const agent = { outputSchema: words, limits: { turns: 1 } };
  await openAgent(sidecar, "wordy", script("go", { text: "Here.", output: "7" }), { agent });
  expect(await untilEnd("wordy", 1)).toMatchObject({ output: "valid", result: "7" });
  await sidecar.client.sendInput("wordy", { text: script("and", { text: "No." }) });
  await untilValue(
    "the limit's ask",
    () => sidecar.client.listAsks("wordy"),
    ({ length }) => length === 1,
  );
  await sidecar.client.killThread("wordy");
});

test("without a schema nothing is said of a result", async () => {
  await openAgent(sidecar, "free", script("go", { text: "Hi." }));
  expect(await untilEnd("free", 1)).not.toHaveProperty("output");
  expect(await rowOf("free")).toBeNull();
});
