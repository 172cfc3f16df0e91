/** Agents that wait for a free place, as people meet them: in Discord and over HTTP, with real relay, sidecar and runners. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { agentTalk } from "../support/agent-talk.ts";
import { STAND_IN_CONFIG } from "../support/agents.ts";
import { type Everything, startEverything } from "../support/relay.ts";
import { until } from "../support/wait.ts";

let all: Everything;
const { open, messages, untilMessage } = agentTalk(() => all);
beforeAll(async () => {
  all = await startEverything({ isQuick: true, vm: { ...STAND_IN_CONFIG, maxAgents: 1 } });
});
afterAll(() => all?.close());

test("a thread says that it waits and how many come before it, moves up, and shows its turn in the same message", async () => {
  const gate = join(all.sidecar.reposDir, "gate");
  const first = await open("First", { waitFor: gate, text: "First done." });
  await until("the first to work", async () => (await all.sidecar.client.listSteps(first)).length > 1);
  const second = await open("Second", { text: "Second done." });
  await until("the second to be queued", async () => {
    return (await all.sidecar.client.getThread(second)).status === "queued";
  });
  const third = await open("Third", { text: "Third done." });
  await untilMessage(second, "◌ Waiting for a free place ·");
  await untilMessage(third, "◌ Waiting for a free place \\(1 before you\\) ·");
  expect(await all.sidecar.client.getThread(third)).toMatchObject({
    status: "queued",
    doing: "Waiting for a free place (1 before you)",
  });
  const status = await all.discord.driver.command(all.you, third, "status").reply();
  expect(status.content).toContain("Waiting for a free place");
  // Ended, it stands in nobody's way.
  await all.sidecar.client.killThread(second);
  await untilMessage(third, "◌ Waiting for a free place ·");
  writeFileSync(gate, "");
  await untilMessage(first, "First done.");
  await untilMessage(third, "Third done.");
  // The same message shows the turn; its edit waits for Discord's pace.
  const isWaiting = () => messages(third).some(({ content }) => content.includes("Waiting"));
  await until("the wait to be gone", () => !isWaiting());
});
