/** `/room`: the members' texts under their names, what people write in between, and *Stop*. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { STAND_IN_CONFIG } from "../support/agents.ts";
import { type Everything, startEverything } from "../support/relay.ts";
import { heardBy, openMember, passing, roomsOf, saying, untilRests } from "../support/rooms.ts";
import { until } from "../support/wait.ts";

let all: Everything;
beforeAll(async () => {
  all = await startEverything({ isQuick: true, vm: STAND_IN_CONFIG });
});
afterAll(() => all?.close());

const command = async (place: string, name: string, options: Record<string, string>) =>
  (await all.discord.driver.command(all.you, place, name, options).reply()).content;

/** @returns its id at the sidecar, and its Discord thread */
async function makeRoom(members: string, options: Record<string, string>) {
  const said = await command(all.discord.channelId, "room new", { members, ...options });
  expect(said).toContain("its thread is below this channel");
  const made = await until("the room", async () => (await roomsOf(all.sidecar).list()).at(-1));
  const home = await until(
    "its thread",
    async () => (await all.sidecar.client.getThread(made.threadId)).home?.channelId,
  );
  return { id: made.threadId, home };
}

/** The bot's messages in a thread, without its first one. */
const said = (home: string) =>
  all.discord.driver.messages(home).flatMap(({ author, content }) => (author.isBot ? [content] : []));

test("each member speaks under its name and number, once, also if the relay is started again", async () => {
  for (const name of ["ann", "ben"])
    await openMember(all.sidecar, name, [
      ...saying(`*${name}* says one`),
      ...saying(`${name} two`),
      ...passing(),
    ]);
  const numbers = await Promise.all(
    ["ann", "ben"].map(async (id) => (await all.sidecar.client.getThread(id)).number),
  );
  const { id, home } = await makeRoom("ann ben", { protocol: "round_robin", title: "the plan" });
  expect(all.discord.driver.findThread(home)?.name).toContain("the plan");
  await until("its state", () => said(home).some((text) => text.includes("round_robin: @ann")));
  all.discord.driver.post(all.you, home, "What now?");
  await until("a text", () => said(home).some((text) => text.includes("*ann* says one")));
  await all.stopRelay();
  await all.startRelay();
  await untilRests(all.sidecar, id);
  await until("the end", () => said(home).some((text) => text.startsWith("-# The round has ended")));
  const spoken = said(home).filter((text) => text.startsWith("**"));
  expect(spoken).toEqual([
    `**ann #${numbers[0]}**\n*ann* says one`,
    `**ben #${numbers[1]}**\n*ben* says one`,
    `**ann #${numbers[0]}**\nann two`,
    `**ben #${numbers[1]}**\nben two`,
  ]);
  expect((await heardBy(all.sidecar, "ben")).slice(0, 2)).toEqual([
    expect.stringMatching(/^discord:\S+: What now\?$/),
    "ann: *ann* says one",
  ]);
  const again = said(home).filter((text) => text.includes("What now?"));
  expect(again).toEqual([]);
  expect(await command(home, "room stop", {})).toBe("The room rested already.");
  expect(await command(home, "room remove", { member: "ben" })).toContain("@ann");
});

test("Stop ends the round, and a protocol that there is not is refused in words", async () => {
  for (const name of ["cleo", "dan"])
    await openMember(all.sidecar, name, [{ text: "Thinking.", delayMs: 60_000 }]);
  const { id, home } = await makeRoom("cleo, dan", { protocol: "orchestrated", lead: "cleo" });
  all.discord.driver.post(all.you, home, "Begin.");
  const first = await until("Stop", () =>
    all.discord.driver
      .messages(home)
      .find(({ author, buttons }) => author.isBot && buttons.some(({ label }) => label === "Stop")),
  );
  const stop = first.buttons.find(({ label }) => label === "Stop")?.customId ?? "";
  all.discord.driver.press(all.you, first.id, stop);
  expect((await untilRests(all.sidecar, id)).why).toBe("discord:you has stopped it");
  await until("no Stop", () =>
    all.discord.driver
      .messages(home)
      .some(({ id: one, buttons }) => one === first.id && buttons.length === 0),
  );
  expect(await command(home, "room add", { member: "nobody" })).toContain('there is no thread "nobody"');
});
