/** Threads that Discord did not begin get Discord threads of their own: one each, whatever is killed. */
import { expect, test } from "vitest";
import { STAND_IN_CONFIG, script, wordsOf } from "../support/agents.ts";
import { aDiscordId } from "../support/ids.ts";
import { type Everything, startForTest } from "../support/relay.ts";
import { refusal } from "../support/threads.ts";
import { until } from "../support/wait.ts";

const discordThreads = ({ discord }: Everything, name: string) =>
  discord.driver.threads().filter((thread) => thread.name === name);

async function create({ sidecar, you }: Everything, threadId: string, more = {}): Promise<void> {
  await sidecar.as(you).createThread({
    threadId,
    type: "agent",
    dir: ".",
    command: script("Hello", { text: "Hello from the shell." }),
    title: `the ${threadId}`,
    home: "discord",
    ...more,
  });
}

const homeOf = ({ sidecar }: Everything, threadId: string) =>
  until("its home", async () => (await sidecar.client.getThread(threadId)).home?.channelId ?? undefined);

test("a thread that was made by the API is a Discord thread soon, and both ids lead to it", async (context) => {
  const all = await startForTest(context, { isQuick: true, vm: STAND_IN_CONFIG });
  const { client } = all.sidecar;
  const { driver } = all.discord;
  await create(all, "shell-1", { initialMessages: [{ role: "user", text: "Said elsewhere." }] });
  const home = await homeOf(all, "shell-1");
  await until("its words in Discord", () =>
    driver.messages(home).some(({ content }) => content.startsWith("Hello from the shell.")),
  );
  expect(driver.messages(home)[0]?.content).toContain(`started by <@${all.you}>`);
  expect(driver.messages(home)[1]?.content).toBe(
    "-# ↰ Before this thread: 1 message of another conversation\n> **user** Said elsewhere.",
  );
  const { id } = driver.post(all.you, home, script("Again", { text: "Again indeed." }));
  await until("an answer", () =>
    driver.messages(home).some(({ content }) => content.startsWith("Again indeed.")),
  );
  expect(await wordsOf(all.sidecar, "shell-1")).toEqual(["Hello from the shell.", "Again indeed."]);
  expect((await client.getThread(home)).threadId).toBe("shell-1");
  expect((await client.listLedgers())[home]?.length).toBeGreaterThan(0);
  expect(id).toBeTruthy();
  // What is another thread's is no home, and nothing else is made under its name.
  await client.createThread({
    threadId: "other",
    type: "terminal",
    dir: ".",
    command: "cat",
  });
  expect(await refusal(client.putHome("other", { channelId: aDiscordId("5") }))).toMatchObject({
    code: "not_found",
  });
  const taken = { threadId: home, type: "terminal" as const, dir: ".", command: "cat" };
  expect(await refusal(client.createThread(taken))).toMatchObject({ code: "thread_exists" });
  driver.deleteThread(all.you, home);
  await until("its end", async () => (await client.getThread("shell-1")).status === "killed");
});

test("a relay that dies while it makes Discord threads makes one each", async (context) => {
  const all = await startForTest(context, { isQuick: true, vm: STAND_IN_CONFIG });
  const { driver } = all.discord;
  const names = ["a", "b", "c"];
  for (const name of names) await create(all, name);
  // It is gone between Discord's answer and its own note, or before the answer, or before the question.
  for (const name of names) {
    await until("one to be made", () => discordThreads(all, `the ${name}`).length > 0);
    await all.stopRelay();
    await all.startRelay();
  }
  const homes = await Promise.all(names.map((name) => homeOf(all, name)));
  for (const [at, name] of names.entries()) {
    expect(discordThreads(all, `the ${name}`).map(({ id }) => id)).toEqual([homes[at]]);
    await until(`the words of ${name}`, () =>
      driver.messages(homes[at] ?? "").some(({ content }) => content.startsWith("Hello from")),
    );
    const openings = driver.messages(homes[at] ?? "").filter(({ content }) => content.includes("started by"));
    expect(openings).toHaveLength(1);
  }
  expect(driver.threads()).toHaveLength(names.length);
});

test("a relay that ends before its Discord thread has its first words says them at its next start", async (context) => {
  const all = await startForTest(context, { isQuick: true, vm: STAND_IN_CONFIG });
  const { driver } = all.discord;
  let refused = 0;
  driver.faults.rest = ({ method, path }) => {
    if (method !== "POST" || !path.endsWith("/messages")) return undefined;
    refused += 1;
    return { kind: "status", status: 500 };
  };
  await create(all, "mute");
  const home = await homeOf(all, "mute");
  await until("its opening to be refused", () => refused > 0);
  await all.stopRelay();
  driver.faults.rest = undefined;
  await all.startRelay();
  await until("its words in Discord", () =>
    driver.messages(home).some(({ content }) => content.startsWith("Hello from")),
  );
  expect(driver.messages(home)[0]?.content).toContain(`started by <@${all.you}>`);
});

test("one that was made and not noted is found again", async (context) => {
  const all = await startForTest(context, { isQuick: true, vm: STAND_IN_CONFIG });
  const { client } = all.sidecar;
  await all.stopRelay();
  await create(all, "lost");
  const { apiUrl, botToken, channelId } = all.discord;
  await client.putHome("lost", { after: aDiscordId(channelId) });
  const made = await fetch(`${apiUrl}/v10/channels/${channelId}/threads`, {
    method: "POST",
    headers: { authorization: `Bot ${botToken}`, "content-type": "application/json" },
    body: JSON.stringify({ name: "the lost", type: 11 }),
  });
  const { id } = (await made.json()) as { id: string };
  await all.startRelay();
  expect(await homeOf(all, "lost")).toBe(id);
  await until("its words in Discord", () =>
    all.discord.driver.messages(id).some(({ content }) => content.startsWith("Hello from the shell.")),
  );
  expect(discordThreads(all, "the lost")).toHaveLength(1);
});

test("a thread in Discord is known by its row: an id that looks like Discord's is an id like any other", async (context) => {
  const all = await startForTest(context, { isQuick: true, vm: STAND_IN_CONFIG });
  const { client } = all.sidecar;
  const lookAlike = "123456789012345678";
  await client.createThread({ threadId: lookAlike, type: "terminal", dir: ".", command: "cat" });
  await create(all, "gone");
  const home = await homeOf(all, "gone");
  await all.stopRelay();
  all.discord.driver.deleteThread(all.you, home);
  await all.startRelay();
  await until("the end of the one whose Discord thread is gone", async () => {
    return (await client.getThread("gone")).status === "killed";
  });
  // Those that are looked up are looked up in the order in which they were made.
  expect(all.discord.driver.stats.requests.filter(({ path }) => path.includes(lookAlike))).toEqual([]);
  expect(await client.getThread(lookAlike)).toMatchObject({ status: "running", home: null });
});

test("a thread that begins in a Discord thread has it in its row, and nobody else gets it", async (context) => {
  const all = await startForTest(context, { isQuick: true, vm: STAND_IN_CONFIG });
  const { client } = all.sidecar;
  const id = await all.openTerminal("cat");
  const thread = await client.getThread(id);
  expect(thread).toMatchObject({ threadId: id, home: { channelId: id, after: null } });
  const other = { type: "terminal" as const, dir: ".", command: "cat" };
  expect(
    await refusal(client.createThread({ ...other, threadId: "thief", home: { channelId: id } })),
  ).toMatchObject({ code: "thread_exists" });
  const own = { ...other, threadId: "own", home: { channelId: "923456789012345678" } };
  await client.createThread(own);
  expect(await refusal(client.createThread({ ...own, threadId: "late" }))).toMatchObject({
    code: "thread_exists",
  });
  expect(await refusal(client.createThread({ ...other, threadId: "923456789012345678" }))).toMatchObject({
    code: "thread_exists",
  });
  expect((await client.getThread("923456789012345678")).threadId).toBe("own");
});
