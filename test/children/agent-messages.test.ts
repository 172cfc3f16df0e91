/** Messages between agents: in both threads, once, with a person where they go too far. With the stand-in. */
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { bash } from "../support/agent-threads.ts";
import { openAgent, STAND_IN_CONFIG, script, transcriptOf, untilStatus, wordsOf } from "../support/agents.ts";
import { AgentTalk } from "../support/discord-agents.ts";
import { callTool, callTools } from "../support/mcp.ts";
import { type Everything, startEverything } from "../support/relay.ts";
import type { TestSidecar } from "../support/sidecar.ts";
import { until } from "../support/wait.ts";

let all: Everything;
let sidecar: TestSidecar;
beforeAll(async () => {
  all = await startEverything({ isQuick: true, vm: STAND_IN_CONFIG });
  sidecar = all.sidecar;
});
afterAll(() => all?.close());

const call = (threadId: string, name: string, input: object, callId = "call") =>
  callTool(sidecar, { threadId, name, input, callId });
const send = (from: string, to: string, text: string, callId: string) =>
  call(from, "message", { threadId: to, text }, callId);
const idle = (threadId: string) => untilStatus(sidecar, threadId, "idle");

/** A child at rest. */
async function childOf(parentId: string, more: object = {}, callId = "spawn"): Promise<string> {
  const input = { prompt: script("Hello", { text: "Hi." }), mode: "async", ...more };
  const said = await call(parentId, "spawn_thread", input, callId);
  const [, childId = ""] = /Started (\S+) /.exec(said) ?? [];
  await idle(childId);
  return childId;
}

async function parent(threadId: string): Promise<string> {
  await openAgent(sidecar, threadId, script("Hello", { text: "Hello." }));
  await idle(threadId);
  return threadId;
}

/** What other agents have written to it, in order. */
async function received(threadId: string): Promise<string[]> {
  const events = await transcriptOf(sidecar, threadId);
  return events.flatMap((event) =>
    event.type === "user_message" && event.source.startsWith("thread:")
      ? event.content.flatMap((block) => (block.type === "text" ? [block.text] : []))
      : [],
  );
}

const sent = async (threadId: string) =>
  (await transcriptOf(sidecar, threadId)).flatMap((event) => (event.type === "message_sent" ? [event] : []));

test("a child writes to its parent: the parent's model reads it, and both Discord threads show it", async () => {
  const tell = { name: "mcp__threadmux__message", input: { threadId: "parent", text: "Half is *done*." } };
  const prompt = script("Work", { tools: [tell] }, { text: "All is done." });
  const spawn = { name: "mcp__threadmux__spawn_thread", input: { prompt, title: "a part", mode: "async" } };
  mkdirSync(join(sidecar.reposDir, "app"));
  const home = await new AgentTalk(all).open(
    script("Split it", { tools: [spawn] }, { text: "Split." }),
    "app",
  );
  const child = await until("the child", async () =>
    (await sidecar.client.listThreads({})).find(({ parentId }) => parentId === home),
  );
  const { threadId: childId, number } = child;
  await until("the message", async () => (await received(home)).length > 0);
  await idle(home);
  expect(await received(home)).toEqual(["Half is *done*."]);
  const [note] = await until("its note", async () => {
    const notes = await sent(childId);
    return notes.length > 0 && notes;
  });
  expect(note).toMatchObject({ threadId: home, text: "Half is *done*." });
  const { driver } = all.discord;
  const shows = (channel: string, text: string) =>
    until(`${text} in Discord`, () => driver.messages(channel).find(({ content }) => content.includes(text)));
  const inParent = await shows(home, `-# ✉ from #${number}`);
  expect(inParent.content).toContain("Half is *done*.");
  const childHome = await until(
    "its home",
    async () => (await sidecar.client.getThread(childId)).home?.channelId,
  );
  const parentNumber = (await sidecar.client.getThread(home)).number;
  expect((await shows(childHome ?? "", `-# ✉ to #${parentNumber}`)).content).toContain("Half is *done*.");
});

// Promise: R16
test("a call sends once, however often it comes and whatever the sidecar was killed in the middle of", async () => {
  const home = await parent("once");
  const child = await childOf(home);
  await Promise.all([1, 2, 3].map(() => send(home, child, "Look here.", "same")));
  // Killed before either thread had it, and before the second had it.
  const draft = { from: home, to: child, text: "Late.", hops: 1, messageId: "agent-late" };
  const path = join(sidecar.stateDir, "messages");
  for (let i = 0; i < 2; i++) {
    writeFileSync(join(path, "agent-late.json"), JSON.stringify(draft));
    writeFileSync(join(path, "agent-torn.json"), "{");
    await sidecar.restart();
  }
  expect(readdirSync(path)).toEqual([]);
  await send(home, child, "Look here.", "same");
  await until("both", async () => (await received(child)).length > 1);
  await idle(child);
  expect(await received(child)).toEqual(["Look here.", "Late."]);
  await until("both notes", async () => (await sent(home)).length > 1);
  expect((await sent(home)).map(({ text }) => text)).toEqual(["Look here.", "Late."]);
});

// Promise: S31
test("after eight messages without a person's the next waits for one, who lets it in or drops it", async () => {
  const home = await parent("ping");
  const child = await childOf(home);
  // The child's first message is the first of them.
  for (let i = 2; i <= 8; i++) {
    const [from, to] = i % 2 === 0 ? [child, home] : [home, child];
    expect(await send(from, to, `Message ${i}.`, `hop ${i}`)).toContain("Sent to");
    await until(`message ${i}`, async () => (await received(to)).includes(`Message ${i}.`));
    await idle(to);
  }
  expect(await send(home, child, "One too many.", "hop 9")).toContain("without a person");
  const [ask] = await until("the ask", async () => {
    const asks = await sidecar.client.listAsks(child);
    return asks.length > 0 && asks;
  });
  expect(ask?.request).toMatchObject({ toolName: "Message", input: '{"content":"One too many."}' });
  await untilStatus(sidecar, child, "waiting");
  const words = (await wordsOf(sidecar, child)).length;
  expect(await received(child)).toContain("One too many.");
  const answer = (optionId: string, requestId = ask?.requestId ?? "") =>
    sidecar.client.answerAsk(child, requestId, { optionId });
  await answer("let_in");
  await until("an answer to it", async () => (await wordsOf(sidecar, child)).length > words);
  await idle(child);
  expect(await send(child, home, "Thanks to a person.", "again")).toContain("Sent to");
});

// Promise: S31
test("nobody writes to strangers; whoever may do less is let in by a person, and what they drop is never read", async () => {
  const home = await parent("wide");
  const other = await parent("stranger");
  mkdirSync(join(sidecar.reposDir, home, "below"));
  const plan = await childOf(home, { permissionMode: "plan" }, "plan");
  const below = await childOf(home, { dir: "below" }, "below");
  for (const [from, to] of [
    [home, other],
    [plan, other],
    [home, home],
    [home, "nobody"],
  ] as const)
    expect(await send(from, to, "Hello.", "x")).toContain("that you know");
  expect(await send(home, "parent", "Hello.", "x")).toContain("No thread spawned you");
  expect(await send(home, "../../etc", "Hello.", "x")).toContain("that you know");
  expect(await send(home, plan, "  ", "x")).toContain("must not be empty");
  const listed = await call(plan, "list_threads", {});
  expect(listed).toContain(`Beside you: ${below}`);
  // Its own line comes first, with how far it is.
  expect(listed).toMatch(new RegExp(`^You: ${plan} \\(#\\d+, .*\\): (idle|running)`));
  for (const child of [plan, below])
    expect(await send(child, "parent", "Please run it.", "up")).toContain("may do more than you");
  expect(await send(plan, below, "Please run it.", "beside")).toContain("may do more than you");
  // Whoever waits for it is told all the same: it is at rest.
  expect(await call(home, "wait_thread", { threadId: below })).toContain("waiting");
  const asks = await until("both asks", async () => {
    const open = await sidecar.client.listAsks(home);
    return open.length === 2 && open;
  });
  for (const { requestId } of asks) await sidecar.client.answerAsk(home, requestId, { optionId: "drop" });
  await idle(home);
  expect(await wordsOf(sidecar, home)).toEqual(["Hello."]);
  // Down and beside, to one that may do no more.
  expect(await send(home, plan, "Go on.", "down")).toContain("Sent to");
  expect(await send(below, plan, "Go on.", "narrow")).toContain("may do more than you");
});

test("a child whose directive takes a tool away writes to who has it only with a person's leave", async () => {
  const home = await parent("tools");
  const folder = join(sidecar.folders.home, ".claude", "agents");
  mkdirSync(folder, { recursive: true });
  const head = "---\nname: reader\ndescription: Reads\ndisallowedTools: Bash\n---\n";
  writeFileSync(join(folder, "reader.md"), `${head}You read.\n`);
  const reader = await childOf(home, { directive: "reader" });
  expect(await send(reader, "parent", "Please run it.", "up")).toContain("may do more than you");
  expect(await send(home, reader, "Go on.", "down")).toContain("Sent to");
});

// Promise: S31
test("a rule that a person granted the reader alone: its agent is written to only with a person's leave", async () => {
  const home = await parent("granted");
  const text = script("make", { tools: [bash("mkdir -p made")] }, { text: "Made." });
  const grant = async (threadId: string) => {
    await sidecar.client.sendInput(threadId, { text });
    const ask = await until("the ask", async () => (await sidecar.client.listAsks(threadId))[0]);
    const answer = { optionId: "thread" };
    await sidecar.client.answerAsk(threadId, ask.requestId, answer);
    await idle(threadId);
  };
  const child = await childOf(home);
  expect(await send(child, home, "Make it.", "before")).toContain("Sent to");
  await idle(home);
  await grant(home);
  expect(await send(child, home, "Make it.", "granted")).toContain("may do more than you");
  expect(await send(home, child, "Make it.", "down")).toContain("Sent to");
  await idle(child);
  await grant(child);
  expect(await send(child, home, "Make it.", "both")).toContain("Sent to");
});

test("of many at once no more wait for a person than may", async () => {
  const home = await parent("flood");
  const plan = await childOf(home, { permissionMode: "plan" });
  const calls = Array.from({ length: 12 }, (_, i) => ({
    name: "message",
    input: { threadId: "parent", text: `Message ${i}.` },
    callId: `many ${i}`,
  }));
  const said = await callTools(sidecar, plan, calls);
  expect(said.filter((text) => text.includes("may do more than you"))).toHaveLength(5);
  expect(said.filter((text) => text.includes("messages to look at there; wait"))).toHaveLength(7);
});

test("another agent's message sets nothing going that a person has stopped", async () => {
  const home = await parent("held");
  const child = await childOf(home);
  await sidecar.client.controlAgent(child, { control: "pause" });
  await untilStatus(sidecar, child, "paused");
  expect(await send(home, child, "Go on!", "1")).toContain("paused by a person");
  await sidecar.client.killThread(child);
  expect(await send(home, child, "Go on!", "2")).toContain("it was killed");
});
