/** Nothing reaches an address that the call did not name, however the inputs of several channels are mixed. */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Round } from "../../agent/engines/demo/script.ts";
import { Vm } from "../../relay/sidecar/vm.ts";
import { seededRandom } from "../../shared/random.ts";
import { type ApiMessage, type Model, startModel } from "../agents/model.ts";
import { STAND_IN_CONFIG, transcriptOf } from "../support/agents.ts";
import { inFull } from "../support/faults.ts";
import { aDiscordId } from "../support/ids.ts";
import { envOf } from "../support/own-agent.ts";
import { type Everything, startEverything } from "../support/relay.ts";
import { makeSidecarFolders } from "../support/sidecar.ts";
import { until } from "../support/wait.ts";

const SEED = Number(process.env["SEED"] ?? Math.floor(Math.random() * 1e9));
const TURNS = inFull(200, 20);
const NAMES = ["alice", "bob", "cy"];
const PLACES = ["ops", "dev", "web"];

let all: Everything;
let model: Model;
let channels: string[];
const vm = () => new Vm(all.sidecar.client);
beforeAll(async () => {
  model = await startModel({ say });
  const folders = makeSidecarFolders();
  const threadEnv = { PATH: folders.env["PATH"] ?? "", HOME: folders.home, ...envOf("anthropic", model.url) };
  all = await startEverything({
    vm: { ...STAND_IN_CONFIG, threadEnv },
    folders,
    isQuick: true,
    discord: { users: NAMES.map((name) => ({ name })) },
  });
  for (const { id } of all.discord.users.filter(({ name }) => NAMES.includes(name)))
    await vm().people.setRole({ kind: "user", id: aDiscordId(id), channelId: null, role: "maker" });
  channels = PLACES.map((name) => all.discord.driver.createChannel(name).id);
  for (const id of channels)
    await vm().channels.set(aDiscordId(id), { mode: "main", engine: "own", dir: "." });
  await until("the channels' names", async () => {
    const named = (await vm().channels.list()).channels.map(({ name }) => name);
    return PLACES.every((name) => named.includes(name));
  });
});
afterAll(async () => {
  await all?.close();
  await model?.close();
});

const blocksOf = ({ content }: ApiMessage) =>
  typeof content === "string" ? [{ type: "text", text: content }] : content;

/** Each message says where its answer is to go; the model calls for that once, and settles the rest. */
function say(messages: readonly ApiMessage[]): Round {
  const wanted = new Map<string, string>();
  const called = new Set<string>();
  let isSettled = true;
  for (const message of messages)
    for (const block of blocksOf(message)) {
      const { type, text = "" } = block as { type: string; text?: string };
      if (message.role !== "assistant" && type === "text") {
        for (const [, n = "", to = ""] of text.matchAll(/ q(\d+) for (\S+)/g)) wanted.set(n, to);
        isSettled = false;
      }
      if (message.role !== "assistant" || type !== "tool_use") continue;
      const { name, input } = block as unknown as { name: string; input: { content?: string } };
      if (name.endsWith("done")) isSettled = true;
      const [, n] = /^r(\d+) /.exec(input.content ?? "") ?? [];
      if (n !== undefined) called.add(n);
    }
  const next = [...wanted].filter(([n]) => !called.has(n));
  if (next.length > 0)
    return {
      tools: next.map(([n, to]) => ({
        name: "mcp__threadmux__message",
        input: { to, content: `r${n} for ${to}` },
      })),
    };
  return isSettled ? { text: "Private." } : { tools: [{ name: "mcp__threadmux__done", input: {} }] };
}

test(`${TURNS} turns with inputs of three channels: each message is where its call said, and nowhere else`, {
  timeout: inFull(900_000, 120_000),
}, async () => {
  const { driver, users } = all.discord;
  const random = seededRandom(SEED);
  const pick = <T>(of: readonly T[]): T => of[Math.floor(random() * of.length)] as T;
  const people = users.filter(({ name }) => NAMES.includes(name));
  const bot = () =>
    channels.flatMap((id, at) =>
      driver
        .messages(id)
        .flatMap(({ author, type, content, replyTo }) =>
          author.isBot && (type === 0 || type === 19) ? [{ place: PLACES[at], content, replyTo }] : [],
        ),
    );
  let [count, threadId] = [0, ""];
  /** Who had written where before a message was posted, by the message's number. */
  const known: Set<string>[] = [];
  const wrote = new Set<string>();
  const ends = async () => {
    const events = threadId === "" ? [] : await transcriptOf(all.sidecar, threadId);
    return events.flatMap((event) =>
      event.type === "tool_call_update" && event.status !== "in_progress"
        ? [JSON.stringify(event.content)]
        : [],
    );
  };
  for (let turn = 0; turn < TURNS; turn++) {
    const before = new Set(wrote);
    const wave = Array.from({ length: 1 + Math.floor(random() * 3) }, () => {
      const person = random() < 0.3 ? "" : `/${pick(NAMES)}`;
      const to = random() < 0.1 ? "discord:#nowhere" : `discord:#${pick(PLACES)}${person}`;
      const [writer, at] = [pick(people), Math.floor(random() * channels.length)];
      driver.post(writer.id, channels[at] ?? "", `q${count} for ${to}`);
      wrote.add(`${PLACES[at]}/${writer.name}`);
      known[count] = before;
      return count++;
    });
    threadId ||= await until(
      "the agent",
      async () => (await vm().voice.findMain(channels[0] ?? "")).threadId,
    );
    await until("all calls to be answered", async () => {
      const { messages } = await vm().voice.listSpoken();
      const { status, waiting } = await all.sidecar.client.getThread(threadId);
      const heard = JSON.stringify(model.requests.at(-1)?.messages);
      return (
        messages.length === 0 &&
        status === "idle" &&
        waiting === 0 &&
        wave.every((n) => heard.includes(`r${n} `))
      );
    });
  }
  const said = bot();
  const told = (await ends()).filter((text) => text.includes("Queued as"));
  expect(said.length, `seed ${SEED}`).toBe(told.length);
  expect(said.length).toBeGreaterThan(TURNS / 2);
  for (const { place, content, replyTo } of said) {
    const [, n, to = ""] = /^r(\d+) for (\S+)$/.exec(content) ?? [];
    const [where, who] = to.replace("discord:#", "").split("/");
    // Somebody who has never written there has no message that it could stand below.
    const isBelow = known[Number(n)]?.has(`${where}/${who}`) || replyTo !== undefined;
    const wanted = [content, where, isBelow ? who : undefined];
    expect([content, place, replyTo?.author], `seed ${SEED}`).toEqual(wanted);
  }
  expect(new Set(said.map(({ content }) => content)).size).toBe(said.length);
});
