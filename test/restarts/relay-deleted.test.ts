/** Messages that people delete while relays are killed: Discord is asked to change what is gone once, and no more. */
import { beforeAll, expect, test } from "vitest";
import { STAND_IN_CONFIG, script } from "../support/agents.ts";
import { AgentTalk } from "../support/discord-agents.ts";
import { startEverything } from "../support/relay.ts";
import { bundleRelay, makeRelayProcess, type RelayProgram } from "../support/relay-process.ts";
import { until } from "../support/wait.ts";

let program: RelayProgram;
beforeAll(async () => {
  program = await bundleRelay({ isQuick: true });
  return () => program.remove();
});

test("a deleted message is edited once, and by no relay after the one that has kept its mark", async ({
  onTestFinished,
}) => {
  const discord = { limits: { identify: { windowMs: 0, total: 10_000 } } };
  const all = await startEverything({ vm: STAND_IN_CONFIG, discord, isWithoutRelay: true });
  const relay = makeRelayProcess(program, all.relayConfig, all.sidecar.folders.home);
  onTestFinished(async () => {
    await relay.stop();
    await all.close();
  });
  const { driver } = all.discord;
  const talk = new AgentTalk(all);
  relay.start();
  await relay.untilReady();
  const threadId = await talk.open(script("hello", { text: "First words." }));
  await talk.untilMessage(threadId, "First words.");
  talk.say(threadId, script("go on", { text: "Second words." }));
  const second = await talk.untilMessage(threadId, "Second words.");
  await until("the buttons to be below the second", () => {
    const { buttons = [] } = driver.messages(threadId).find(({ id }) => id === second.id) ?? {};
    return buttons.length > 0;
  });
  await relay.kill9();
  driver.deleteMessage(all.you, threadId, second.id);
  await all.sidecar.client.sendInput(threadId, { text: script("and on", { text: "Third words." }) });
  let edits = 0;
  driver.faults.rest = ({ method, path }) => {
    if (method === "PATCH" && path.endsWith(`/messages/${second.id}`)) edits += 1;
    return undefined;
  };
  const mark = async () => JSON.stringify((await all.sidecar.client.getThread(threadId)).delivery);
  const before = await mark();
  relay.start();
  await talk.untilMessage(threadId, "Third words.");
  await until("the mark to be kept", async () => edits > 0 && (await mark()) !== before);
  for (let kill = 0; kill < 3; kill++) {
    await relay.kill9();
    relay.start();
    await all.sidecar.client.sendInput(threadId, { text: script("more", { text: `Words ${kill}.` }) });
    await talk.untilMessage(threadId, `Words ${kill}.`);
  }
  expect(edits).toBe(1);
});
