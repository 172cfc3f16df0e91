/** What an agent writes and what people do to it, as the thread shows it: hostile markdown, messages that are deleted. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { agentTalk } from "../support/agent-talk.ts";
import { STAND_IN_CONFIG, script } from "../support/agents.ts";
import { type Everything, startEverything } from "../support/relay.ts";
import { until } from "../support/wait.ts";

let all: Everything;
const { open, messages, untilMessage } = agentTalk(() => all);
beforeAll(async () => {
  all = await startEverything({ isQuick: true, vm: STAND_IN_CONFIG });
});
afterAll(() => all?.close());

const COLUMNS = Array.from({ length: 30 }, (_, i) => `column${i}`);
const NESTED = Array.from({ length: 50 }, (_, i) => `${"  ".repeat(i)}- item${i}`);

test.each([
  [
    "a fence that never closes",
    ["Look:", "```ts", ...Array.from({ length: 120 }, (_, i) => `const item${i} = 1;`)],
  ],
  ["50 nested lists", NESTED],
  [
    "a table of 30 columns",
    [COLUMNS, COLUMNS.map(() => "---"), COLUMNS.map((name) => `of ${name}`)].map(
      (row) => `| ${row.join(" | ")} |`,
    ),
  ],
])("%s: every message is valid by itself, and every word is there", async (_name, lines) => {
  const threadId = await open("Hello", { text: "Hello." });
  await untilMessage(threadId, "Hello.");
  const before = messages(threadId).length;
  const text = script("Write", { text: `${lines.join("\n")}\n` });
  await all.sidecar.client.sendInput(threadId, { text });
  // What the owner wrote stands there too.
  const answer = () =>
    messages(threadId)
      .slice(before)
      .filter(({ content }) => !content.startsWith("-# ✉"));
  await until("the end", () => (answer().at(-1)?.content ?? "").includes("-# "));
  const said = answer();
  for (const { content } of said) {
    expect(content.length).toBeLessThanOrEqual(2_000);
    expect((content.match(/```/g) ?? []).length % 2, content).toBe(0);
  }
  const shown = said.map(({ content }) => content).join("\n");
  for (const word of new Set(lines.join("\n").match(/\b(?:item|column)\d+\b/g))) {
    expect(shown.match(new RegExp(`\\b${word}\\b`)), word).not.toBeNull();
  }
  expect(all.discord.driver.stats.invalid).toBe(0);
});

test("an activity that somebody deletes in mid-turn comes back with the next step; words that are deleted stay so", async () => {
  const go = join(all.sidecar.reposDir, "go-deleted");
  const threadId = await open(
    "Work",
    { text: "First.", tools: [{ name: "Read", input: { file_path: join(all.sidecar.reposDir, "none-1") } }] },
    { waitFor: go, tools: [{ name: "Read", input: { file_path: join(all.sidecar.reposDir, "none-2") } }] },
    { text: "Worked." },
  );
  const activity = await untilMessage(threadId, /First\.\n✗ Read `none-1/);
  all.discord.driver.deleteMessage(all.you, threadId, activity.id);
  writeFileSync(go, "");
  const worked = await untilMessage(threadId, "Worked.");
  const again = await untilMessage(threadId, /First\.\n✗ Read `none-1.*\n✗ Read `none-2/);
  expect(messages(threadId).map(({ id }) => id)).toEqual([again.id, worked.id]);
  // The turn has ended: before that, its words are in mid-turn too, and come back.
  await untilMessage(threadId, /Worked\.\n-# /);
  all.discord.driver.deleteMessage(all.you, threadId, worked.id);
  all.discord.driver.post(all.you, threadId, script("And?", { text: "That is all." }));
  await untilMessage(threadId, "That is all.");
  expect(messages(threadId).filter(({ content }) => content.includes("Worked."))).toEqual([]);
});
