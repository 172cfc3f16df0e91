/** A thread's name in Discord follows the sidecar's while nobody has named it there. */
import { expect, test } from "vitest";
import { BYPASS_CONFIG, script, untilStatus } from "../support/agents.ts";
import { startForTest } from "../support/relay.ts";
import { until, untilValue } from "../support/wait.ts";

test("what an agent is called becomes the name of its Discord thread, unless a person has named that", async (context) => {
  const all = await startForTest(context, { isQuick: true, vm: BYPASS_CONFIG });
  const { driver, channelId } = all.discord;
  const { client } = all.sidecar;
  const begin = async (prompt: string) => {
    const { content } = await driver.command(all.you, channelId, "agent", { prompt }).reply();
    const threadId = /<#(\d+)>/.exec(content)?.[1] ?? "";
    await untilStatus(all.sidecar, threadId, "idle");
    return threadId;
  };
  const nameOf = (threadId: string) => driver.findThread(threadId)?.name;
  const first = await begin(script("Fix the login", { text: "One." }));
  expect(nameOf(first)).toMatch(/^🤖 .* — Fix the login/);
  await client.setTitle(first, "Login fixed");
  await client.sendInput(first, { text: script("More", { text: "Two." }) });
  await until("the name", () => nameOf(first) === "Login fixed");
  expect((await client.getThread(first)).title).toBe("Login fixed");

  const second = await begin(script("Look around", { text: "Here." }));
  await all.stopRelay();
  await client.setTitle(second, "Named while the bot was away");
  await all.startRelay();
  await until("the name", () => nameOf(second) === "Named while the bot was away");

  driver.patchThread(all.you, first, { name: "Mine" });
  await untilValue(
    "the person's name",
    async () => (await client.getThread(first)).title,
    (title) => title === "Mine",
  );
  await client.setTitle(first, "Theirs");
  await client.sendInput(first, { text: script("More", { text: "Three." }) });
  await until("the answer", () => driver.text(first).includes("Three."));
  expect(nameOf(first)).toBe("Mine");
});
