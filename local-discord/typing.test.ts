/** "… is typing" lasts ten seconds, or until its user has written. It is refused as a message would be. */
import { expect, it } from "vitest";
import { restTest } from "./testing.ts";

const rest = restTest();
const { api, makeThread, send } = rest;
const type = async (channel: string) => {
  const { status, body } = await api("POST", `/channels/${channel}/typing`);
  return status === 204 ? 204 : body["code"];
};

it("shows the bot for ten seconds, in that channel alone", async () => {
  const { driver, channelId, applicationId } = rest.discord;
  const other = driver.createChannel("shop").id;
  expect(await type(other)).toBe(204);
  expect([driver.typists(channelId), driver.typists(other)]).toEqual([[], [applicationId]]);
  rest.clock.advance(9_999);
  expect(driver.typists(other)).toEqual([applicationId]);
  rest.clock.advance(1);
  expect(driver.typists(other)).toEqual([]);
});

it("ends when they have written, and there alone", async () => {
  const { driver, channelId, applicationId, you } = rest.discord;
  const other = driver.createChannel("shop").id;
  await Promise.all([type(channelId), type(other)]);
  driver.type(you.id, channelId);
  await send({ content: "hi" });
  expect([driver.typists(channelId), driver.typists(other)]).toEqual([[you.id], [applicationId]]);
});

it("is refused like a message, and in what is archived", async () => {
  const { driver, channelId, you } = rest.discord;
  const thread = await makeThread();
  driver.denyBot(["sendMessages"]);
  expect([await type(channelId), await type(thread)]).toEqual([50013, 204]);
  driver.denyBot(["sendMessagesInThreads"]);
  expect([await type(channelId), await type(thread)]).toEqual([204, 50013]);
  driver.denyBot(["viewChannel"]);
  expect([await type(channelId), await type(thread)]).toEqual([50001, 50001]);
  driver.denyBot([]);
  driver.archiveThread(you.id, thread);
  expect([await type(thread), await type("123456789012345678")]).toEqual([50083, 10003]);
});
