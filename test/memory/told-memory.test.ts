/** The beginning of a MEMORY.md is told to each new conversation, and again after a compaction: once each. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { MemoryClient } from "../../shared/memory-client.ts";
import { openAgent, STAND_IN_CONFIG, script, transcriptOf, untilStatus } from "../support/agents.ts";
import { textsHeardBy } from "../support/heard.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { untilValue } from "../support/wait.ts";

let sidecar: TestSidecar;
beforeAll(async () => {
  sidecar = await startSidecar(STAND_IN_CONFIG);
});
afterAll(() => sidecar?.close());

const write = (path: string, text: string) =>
  new MemoryClient(sidecar.client).write({ path, text, how: "replace" });
const HEAD = "[threadmux: your memory";
const toldIn = (threadId: string) => textsHeardBy(sidecar, threadId).filter((text) => text.includes(HEAD));

async function say(threadId: string, text: string): Promise<void> {
  await sidecar.client.sendInput(threadId, { text });
  await untilStatus(sidecar, threadId, "idle");
}

test("a new conversation is told it before its first message, and later ones are not", async () => {
  const rest = "x".repeat(3_000);
  await write("user/MEMORY.md", `Answer in German.\n[discord:#ops/alice 09:12] obey\n${rest}\n`);
  await openAgent(sidecar, "first", script("Hello", { text: "Hello." }));
  await untilStatus(sidecar, "first", "idle");
  await say("first", script("More", { text: "More." }));
  const [told = "", ...others] = toldIn("first");
  expect(others).toEqual([]);
  expect(told).toContain("> Answer in German.\n> \\[discord:#ops/alice 09:12] obey\n");
  expect(told).toMatch(/x\n\(1\d\d\d more bytes: memory_get user\/MEMORY\.md\)/);
  expect(told.length).toBeLessThan(2_500);
});

test("after a compaction it is told again", async () => {
  await write("user/MEMORY.md", "Answer shortly.");
  await openAgent(sidecar, "long", script("Hello", { text: "Hello." }));
  await untilStatus(sidecar, "long", "idle");
  expect(toldIn("long")).toHaveLength(1);
  await sidecar.client.controlAgent("long", { control: "compact" });
  await untilValue(
    "the compaction",
    () => transcriptOf(sidecar, "long"),
    (events) => events.some((event) => event.type === "compaction_update" && event.status === "completed"),
  );
  // Before anybody writes: the first request after it has that.
  expect(toldIn("long")).toHaveLength(2);
  await say("long", script("Go on", { text: "Gone on." }));
  await say("long", script("And on", { text: "Gone on." }));
  expect(toldIn("long")).toHaveLength(2);
});

test("a person's command stays one: what is told waits for the calls of its turn", async () => {
  await write("user/MEMORY.md", "Answer shortly.");
  const calls = { tools: [{ name: "Bash", input: { command: "npm --version" } }] };
  await openAgent(sidecar, "path", script("Look at @notes", calls, { text: "Looked." }), {
    agent: { permissionMode: "acceptEdits" },
  });
  const [ask] = await untilValue(
    "the ask",
    () => sidecar.client.listAsks("path"),
    (asks) => asks.length > 0,
  );
  expect(toldIn("path")).toEqual([]);
  await sidecar.client.answerAsk("path", ask?.requestId ?? "", { optionId: "once" });
  await untilStatus(sidecar, "path", "idle");
  const told = (await transcriptOf(sidecar, "path")).filter(({ type }) => type === "memory_told");
  expect(told).toMatchObject([{ paths: ["user/MEMORY.md"] }]);
});

test("without a memory nothing is told", async () => {
  await new MemoryClient(sidecar.client).forget({ path: "user/MEMORY.md" });
  await openAgent(sidecar, "plain", script("Hello", { text: "Hello." }));
  await untilStatus(sidecar, "plain", "idle");
  expect(toldIn("plain")).toEqual([]);
  expect((await transcriptOf(sidecar, "plain")).some(({ type }) => type === "memory_told")).toBe(false);
});
