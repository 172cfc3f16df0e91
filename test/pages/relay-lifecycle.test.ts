/** Threads that are archived, locked or out of reach, people who must be told, and logins that can't work. */
import { expect, test } from "vitest";
import { runRelay } from "../../relay/run.ts";
import { pause } from "../../shared/lifecycle.ts";
import { createLog } from "../../shared/log.ts";
import { type Everything, startEverything, startForTest } from "../support/relay.ts";
import { until } from "../support/wait.ts";

const HOUR_MS = 3_600_000;
/** What a stream would try again within: at 1 s and 3 s. Nothing else can show that it does not. */
const RETRIES_MS = 3_500;
/** So long a slow look takes: in the meantime a thread can end. */
const LOOK_MS = 4_000;
/** So often one request is made before it has failed. */
const LOOKS = 5;

const isArchived = ({ discord }: Everything, threadId: string) =>
  discord.driver.findThread(threadId)?.isArchived;
const statusReply = async ({ discord, you }: Everything) =>
  (await discord.driver.command(you, discord.channelId, "status").reply()).content;

test.concurrent("a thread that Discord archived by itself comes back with the next output", async ({
  onTestFinished,
}) => {
  let skewMs = 0;
  const all = await startForTest({ onTestFinished }, { now: () => Date.now() + skewMs });
  const threadId = await all.openTerminal("cat");
  await all.sidecar.client.sendInput(threadId, { text: "before" });
  await all.untilShown(threadId, "before\nbefore");
  skewMs = 25 * HOUR_MS;
  all.discord.driver.tick();
  expect(isArchived(all, threadId)).toBe(true);
  await all.sidecar.client.sendInput(threadId, { text: "after a day" });
  await all.untilShown(threadId, "after a day\nafter a day");
  expect(isArchived(all, threadId)).toBe(false);
});

test.concurrent("an archived thread comes back also if Discord fails just then", async ({
  onTestFinished,
}) => {
  const all = await startForTest({ onTestFinished });
  const threadId = await all.openTerminal("cat");
  await all.sidecar.client.sendInput(threadId, { text: "before" });
  await all.untilShown(threadId, "before\nbefore");
  let edits = 0;
  let looks = 0;
  all.discord.driver.faults.rest = ({ method, path }) => {
    if (method === "PATCH" && path.includes("/messages/") && ++edits === 1)
      return { kind: "status", status: 400, body: { code: 50083, message: "Thread is archived" } };
    if (method === "GET" && path.endsWith(threadId) && ++looks <= LOOKS)
      return { kind: "status", status: 503 };
    return undefined;
  };
  await all.sidecar.client.sendInput(threadId, { text: "after" });
  await all.untilShown(threadId, "after\nafter");
  expect(looks).toBe(LOOKS);
});

test.concurrent("a thread that ends while the relay looks for its threads stays ended", async ({
  onTestFinished,
}) => {
  const all = await startForTest({ onTestFinished });
  const { driver } = all.discord;
  const [threadId, other] = [await all.openTerminal("echo once; cat"), await all.openTerminal("cat")];
  await all.untilShown(threadId, "once");
  let isAsked = false;
  driver.faults.rest = ({ path }) => {
    if (!path.endsWith("/threads/active")) return undefined;
    isAsked = true;
    return { kind: "pass", latencyMs: LOOK_MS };
  };
  driver.gateway.closeAll(1000); // no resume: a new session
  await until("the look for its threads", () => isAsked);
  await all.sidecar.client.killThread(threadId);
  await until("the thread to be archived", () => isArchived(all, threadId) === true);
  const said = driver.messages(threadId).map(({ content }) => content);
  // What is written goes in once all threads are found.
  driver.post(all.you, other, "found");
  await all.untilShown(other, "found\nfound");
  expect(isArchived(all, threadId)).toBe(true);
  driver.post(all.you, threadId, "thanks");
  driver.post(all.you, other, "later");
  await all.untilShown(other, "later\nlater");
  expect(driver.messages(threadId).map(({ content }) => content)).toEqual([...said, "thanks"]);
});

// Promise: R22
test.concurrent.each([
  ["archived", "the thread was archived by hand"],
  ["locked", "the thread is locked"],
] as const)(
  "a thread that a person %s is no longer streamed, /status says so, and it goes on when it is back",
  async (how, why) => {
    const all = await startEverything();
    try {
      const { driver } = all.discord;
      const threadId = await all.openTerminal("cat");
      await all.sidecar.client.sendInput(threadId, { text: "before" });
      await all.untilShown(threadId, "before\nbefore");
      driver.archiveThread(all.you, threadId, { locked: how === "locked" });
      await all.sidecar.client.sendInput(threadId, { text: "meanwhile" });
      await until("/status to say so", async () =>
        (await statusReply(all)).includes(`⏸ not streaming: ${why}`),
      );
      expect(all.terminalText(threadId)).not.toContain("meanwhile");
      expect(isArchived(all, threadId)).toBe(true);
      // Anybody's message brings an archived thread back; a lock is for whoever set it to open.
      if (how === "archived") driver.post(all.you, threadId, "again");
      else driver.patchThread(all.you, threadId, { archived: false, locked: false });
      await all.untilShown(threadId, "meanwhile\nmeanwhile");
      expect(await statusReply(all)).not.toContain("not streaming");
    } finally {
      await all.close();
    }
  },
);

test.concurrent("lost permissions are told once in the channel, and not tried for ever", async ({
  onTestFinished,
}) => {
  const all = await startForTest({ onTestFinished });
  const { driver, channelId } = all.discord;
  const threadIds = [await all.openTerminal("cat"), await all.openTerminal("cat")];
  driver.denyBot(["sendMessagesInThreads"]);
  for (const threadId of threadIds) await all.sidecar.client.sendInput(threadId, { text: "lost" });
  const told = () =>
    driver.messages(channelId).filter(({ content }) => content.includes("I may not write in"));
  await driver.until(() => told().length > 0, { what: "the channel to be told" });
  await until(
    "both threads to be let go of",
    async () => (await statusReply(all)).split("the bot may not write there").length === 3,
  );
  driver.stats.reset();
  for (const threadId of threadIds) await all.sidecar.client.sendInput(threadId, { text: "more" });
  await pause(RETRIES_MS);
  const tried = driver.stats.requests.filter(({ status }) => status === 403);
  expect(tried.map(({ method, path }) => `${method} ${path}`)).toEqual([]);
  expect(told()).toHaveLength(1);
});

// Promise: S34
test.concurrent("a bell mentions who started it; output and the end of a short run mention nobody", async ({
  onTestFinished,
}) => {
  const all = await startForTest({ onTestFinished });
  const { driver } = all.discord;
  const threadId = await all.openTerminal(
    `echo "<@${all.you}> @everyone"; read x; printf '\\aheard\\n'; read x; printf '\\a'; read x; exit 4`,
  );
  await all.untilShown(threadId, "@everyone");
  // The bell that a person's own key caused is no news to them.
  await driver.command(all.you, threadId, "key", { name: "return" }).reply();
  await all.untilShown(threadId, "heard");
  driver.post(all.you, threadId, "ring");
  const pings = () =>
    driver
      .messages(threadId)
      .filter(({ author, mentions }) => author.isBot && mentions.length > 0)
      .map(({ content, mentions }) => [content, mentions]);
  const bell = [`🔔 The terminal bell rang. <@${all.you}>`, [all.you]];
  await driver.until(() => pings().length > 0, { what: "the bell" });
  expect(pings()).toEqual([bell]);
  driver.post(all.you, threadId, "end");
  await driver.until(() => driver.text(threadId).includes("exit code 4"), { what: "the end" });
  expect(pings()).toEqual([bell]); // it ran for seconds only
  expect(driver.messages(threadId).some(({ isEveryonePinged }) => isEveryonePinged)).toBe(false);
});

test.concurrent("the end of a run of over a minute mentions who started it, once and nobody else", async ({
  onTestFinished,
}) => {
  // For the sidecar the thread was begun two minutes ago.
  const all = await startForTest({ onTestFinished }, { vmNow: () => Date.now() - 120_000 });
  const { driver } = all.discord;
  const threadId = await all.openTerminal("read x; exit 4");
  driver.post(all.you, threadId, "end");
  const isEnd = ({ content }: { content: string }) => content.includes("exit code 4");
  const end = await driver.until(() => driver.messages(threadId).find(isEnd), { what: "the end" });
  expect(end).toMatchObject({ mentions: [all.you], content: expect.stringMatching(/2 min/) });
  const pings = driver
    .messages(threadId)
    .filter(({ author, mentions }) => author.isBot && mentions.length > 0);
  expect(pings.map(({ id }) => id)).toEqual([end.id]);
});

test.concurrent.each([
  ["a wrong token", /token/i],
  ["an intent that is not granted", /Message Content intent \(Developer Portal/],
] as const)("%s ends the relay with one clear line", async (what, line) => {
  const all = await startEverything({ isWithoutRelay: true });
  try {
    const { relayConfig, discord } = all;
    if (what === "a wrong token") discord.driver.revokeToken();
    else discord.driver.setMessageContentGranted(false);
    const relay = runRelay(relayConfig, { log: createLog("relay", "silent") });
    const error = (await relay.then(
      () => new Error("it started"),
      (error: unknown) => error,
    )) as Error;
    expect(error.message).toMatch(line);
    expect(error.message).not.toContain("\n");
  } finally {
    await all.close();
  }
});
