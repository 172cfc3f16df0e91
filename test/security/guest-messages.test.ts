/** What a guest writes: who is offered to let it in, what goes in then, and what is said if nothing does. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { STAND_IN_CONFIG, script } from "../support/agents.ts";
import { callAs } from "../support/call-as.ts";
import { type Everything, startEverything } from "../support/relay.ts";
import { until, untilValue } from "../support/wait.ts";

const NAMES = { maker: "Max", member: "Mia", viewer: "Vera", guest: "Gus" };
const people = {} as Record<keyof typeof NAMES, string>;

let all: Everything;
/** A channel in which every message begins an agent. */
let open: string;

const put = async (path: string, body: object) => {
  const { status, text } = await callAs(all.sidecar, undefined, "PUT", path, body);
  expect([status, text]).toEqual([200, expect.anything()]);
};
const setMode = (mode: string) => all.discord.driver.command(all.you, open, "here", { mode }).reply();
/** The bot's answers below a message. */
const answersTo = (placeId: string, messageId: string) =>
  all.discord.driver.messages(placeId).filter(({ replyTo }) => replyTo?.id === messageId);
const isTold = (person: string, words: RegExp) =>
  until(`an answer like ${words}`, () =>
    all.discord.driver.ephemerals(person).some(({ content }) => words.test(content)),
  );

/** A guest's message, and the bot's offer below it. */
async function propose(placeId: string, words: string) {
  const { driver } = all.discord;
  const { id } = driver.post(people.guest, placeId, words);
  const find = () => answersTo(placeId, id)[0];
  const offered = await untilValue("the offer", find, (offer) => offer !== undefined);
  return {
    id,
    content: () => find()?.content ?? "",
    press: (person: string) =>
      driver.press(person, offered?.id ?? "", find()?.buttons[0]?.customId ?? "none"),
    isLetInBy: (person: string) =>
      until("who let it in", () => find()?.content.includes(`<@${person}> let it in`) === true),
  };
}

beforeAll(async () => {
  const users = Object.values(NAMES).map((name) => ({ name }));
  all = await startEverything({ vm: STAND_IN_CONFIG, isQuick: true, discord: { users } });
  open = all.discord.driver.createChannel("open").id;
  await put(`/channel/${open}`, { dir: ".", mode: "threads" });
  for (const role of ["maker", "member", "viewer", "guest"] as const) {
    people[role] = all.discord.users.find(({ name }) => name === NAMES[role])?.id ?? "";
    await put("/people/role", { id: people[role], role });
  }
  // The guest's role is the last one that was given: a relay that knows it knows the others.
  const isKnown = async () => {
    const { id } = all.discord.driver.post(people.guest, open, "first");
    return until("an answer", () => answersTo(open, id).length > 0, { timeoutMs: 2_000 }).then(
      () => true,
      () => false,
    );
  };
  await until("the roles to count", isKnown);
});
afterAll(() => all?.close());

// Promise: S1
test("a guest who changes a message after it was offered has it offered anew; it goes in as it was read", async () => {
  const { driver } = all.discord;
  const thread = await all.openTerminal("cat");
  const offer = await propose(thread, "harmless words");
  driver.edit(people.guest, thread, offer.id, "other words");
  offer.press(people.member);
  await until("a new offer", () => offer.content().includes("changed this message"));
  expect(all.terminalText(thread)).not.toContain("words");
  offer.press(people.member);
  await all.untilShown(thread, "other words");
  expect(all.terminalText(thread)).not.toContain("harmless");
  await offer.isLetInBy(people.member);
});

test("in a channel, letting it in begins a thread: the offer says so, a member is refused, a maker is not", async () => {
  const { driver } = all.discord;
  const offer = await propose(open, script("Begin this", { text: "Begun." }));
  expect(offer.content()).toContain("who may begin threads here lets it in");
  offer.press(people.member);
  await isTold(people.member, /You are a member here, and may not begin threads\. .* could: /);
  expect([driver.findThread(offer.id), offer.content()]).toEqual([
    undefined,
    expect.stringContaining("guest"),
  ]);
  offer.press(people.maker);
  await until("the thread", () => driver.findThread(offer.id) !== undefined);
  await offer.isLetInBy(people.maker);
});

test("if the channel's mode has changed, a press says that nothing went in, and the offer stays", async () => {
  const offer = await propose(open, script("Not now", { text: "Begun." }));
  await setMode("mention");
  offer.press(people.maker);
  await isTold(people.maker, /Nothing went in: a message like this one begins nothing here now/);
  expect(offer.content()).not.toContain("let it in.");
  await setMode("threads");
  offer.press(people.maker);
  await offer.isLetInBy(people.maker);
});

test("people who answer each other are left alone, whatever their roles", async () => {
  const { driver } = all.discord;
  const before = await propose(open, script("Hello", { text: "Begun." }));
  await setMode("mention");
  const chat = [people.viewer, people.guest].map(
    (person) => driver.post(person, open, "nice", { replyTo: before.id }).id,
  );
  // The viewer's own call of the bot is answered: the first one that they get in this channel.
  const bot = answersTo(open, before.id)[0]?.author.id;
  for (const person of [people.viewer, people.guest]) {
    const { id } = driver.post(person, open, `<@${bot}> please`);
    await until("an answer", () => answersTo(open, id).length > 0);
  }
  expect(chat.flatMap((id) => answersTo(open, id))).toEqual([]);
  await setMode("threads");
});
