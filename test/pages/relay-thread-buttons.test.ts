/** Steps, Diff and Done below an agent's messages: below the newest one alone, also after a restart of the relay. */
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { SeenMessage } from "../../local-discord/seen.ts";
import { agentTalk, bash } from "../support/agent-talk.ts";
import { STAND_IN_CONFIG, script } from "../support/agents.ts";
import { type Everything, startEverything } from "../support/relay.ts";
import { until } from "../support/wait.ts";

let all: Everything;
const { open, messages, untilMessage, press, now } = agentTalk(() => all);
beforeAll(async () => {
  all = await startEverything({ isQuick: true, vm: STAND_IN_CONFIG });
});
afterAll(() => all?.close());

const labels = (message: SeenMessage) => now(message).buttons.map(({ label }) => label);
const untilLabels = (message: SeenMessage, ...expected: string[]) =>
  until(`the buttons ${expected}`, () => labels(message).join() === expected.join());
const post = (threadId: string, text: string) => all.discord.driver.post(all.you, threadId, text);

test("the newest message has them, what it was before keeps its words and its Diff", async () => {
  const file = join(all.sidecar.reposDir, "made.md");
  const write = { name: "Write", input: { file_path: file, content: "one\ntwo\n" } };
  const threadId = await open("Write it", { tools: [write] }, { text: "Written." });
  const ask = await untilMessage(threadId, "May the agent do this?");
  const activity = await untilMessage(threadId, /^◌ Write/);
  await untilLabels(activity, "Stop", "Steps", "Done");
  expect(labels(ask)).toContain("Allow once");
  expect(labels(ask)).not.toContain("Done");
  press(ask, "Allow once");
  const written = await untilMessage(threadId, "Written.");
  await untilLabels(written, "Diff", "Steps", "Done");
  await untilLabels(activity);
  await untilLabels(ask);
  expect(written.content).toMatch(
    /\n-# 1 step · .* · 1 file \+2 −0 · no undo: the directory is in no git work tree$/,
  );
  const diff = await press(written, "Diff").reply();
  expect(diff).toMatchObject({ isEphemeral: true });
  expect(diff.content).toContain("**made.md**\n```diff\n+one\n+two\n```");
  const steps = await press(written, "Steps").reply();
  expect(steps).toMatchObject({ isEphemeral: true });
  expect(steps.content).toMatch(/Steps of \*\*#\d+\*\*.*\n✓ \*\*Turn\*\*/);

  // At rest a restart costs its thread no request, and the buttons above still go with the next turn.
  await all.stopRelay();
  const before = all.discord.driver.stats.requests.length;
  const there = messages(threadId).map(({ id }) => id);
  await all.startRelay();
  post(threadId, script("And?", { text: "Nothing more." }));
  const next = await untilMessage(threadId, "Nothing more.");
  await untilLabels(next, "Steps", "Done");
  await untilLabels(written, "Diff");
  expect(now(written).content).toBe(written.content);
  // The turn's own activity may be edited too, if the turn is slow.
  const edits = all.discord.driver.stats.requests
    .slice(before)
    .filter(({ method, path }) => method === "PATCH" && there.some((id) => path.endsWith(`/messages/${id}`)));
  expect(edits).toHaveLength(1);
  expect((await press(written, "Diff").reply()).content).toContain("+two");
  const strange = await press(next, "Steps", all.stranger).reply();
  expect(strange.content).toContain("ALLOWED_USER_IDS");
  press(next, "Done");
  await until("archiving", () => all.discord.driver.findThread(threadId)?.isArchived);
  expect(labels(next)).toEqual([]);
  expect((await all.sidecar.client.getThread(threadId)).status).toBe("killed");
});

test("a message that somebody deletes takes its buttons along, and the next one has them", async () => {
  const threadId = await open("Hello", { text: "Hello." });
  const hello = await untilMessage(threadId, "Hello.");
  await untilLabels(hello, "Steps", "Done");
  all.discord.driver.deleteMessage(all.you, threadId, hello.id);
  post(threadId, script("And?", bash("ls"), { text: "Nothing more." }));
  const next = await untilMessage(threadId, "Nothing more.");
  await untilLabels(next, "Steps", "Done");
  expect(messages(threadId).filter(({ content }) => content.startsWith("Hello."))).toEqual([]);
});
