/** A person's message that the channel's agent has read is answered, settled, or said to be unanswered; each once. */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Round } from "../../agent/engines/demo/script.ts";
import { Vm } from "../../relay/sidecar/vm.ts";
import { UNANSWERED } from "../../shared/voice-api.ts";
import { STAND_IN_CONFIG, script, transcriptOf, untilStatus } from "../support/agents.ts";
import { aDiscordId } from "../support/ids.ts";
import { type Everything, startEverything } from "../support/relay.ts";
import { until } from "../support/wait.ts";

let all: Everything;
let ops: string;
const vm = () => new Vm(all.sidecar.client);
beforeAll(async () => {
  all = await startEverything({ vm: STAND_IN_CONFIG, isQuick: true });
  ops = all.discord.driver.createChannel("ops").id;
  await vm().channels.set(aDiscordId(ops), { mode: "main" });
  await until("its name", async () =>
    (await vm().channels.list()).channels.some(({ id, name }) => id === ops && name === "ops"),
  );
});
afterAll(() => all?.close());

const tool = (name: string, input: Record<string, unknown>): Round => ({
  tools: [{ name: `mcp__threadmux__${name}`, input }],
});
const answer = (content: string) => tool("message", { to: "discord:#ops/you", content });
const write = (text: string, ...rounds: Round[]) =>
  all.discord.driver.post(all.you, ops, script(text, ...rounds)).id;
/** The bot's messages below a message. */
const below = (id: string) =>
  all.discord.driver
    .messages(ops)
    .flatMap(({ author, replyTo, content }) => (author.isBot && replyTo?.id === id ? [content] : []));
const mainId = async () => (await vm().voice.findMain(ops)).threadId;
/** All is said that is to be said. */
const settled = async () => {
  await untilStatus(all.sidecar, await mainId(), "idle");
  await until("nothing to say", async () => (await vm().voice.listSpoken()).messages.length === 0);
};
const reminders = async () =>
  (await transcriptOf(all.sidecar, await mainId())).filter(({ type }) => type === "voice_held").length;

test("whoever gets no answer is told so below their message, after the agent was told once", async () => {
  const id = write("are you there?", { text: "I think so." }, { text: "I still think so." });
  await until("the line", () => below(id).includes(UNANSWERED));
  await settled();
  expect(below(id)).toEqual([UNANSWERED]);
  expect(await reminders()).toBe(1);
});

test("an agent that is reminded and answers, one that answers at once, and one that is done owe nothing", async () => {
  const before = await reminders();
  const late = write("late?", { text: "Hm." }, answer("Late."), { text: "ok" });
  await until("the late answer", () => below(late).includes("Late."));
  await settled();
  expect(await reminders()).toBe(before + 1);
  const quick = write("quick?", answer("Quick."), { text: "ok" });
  await until("the quick answer", () => below(quick).includes("Quick."));
  await settled();
  const thanks = write("thanks", tool("done", { why: "thanks" }), { text: "ok" });
  await until("its end", async () => {
    const events = await transcriptOf(all.sidecar, await mainId());
    return events.some(({ type }) => type === "voice_done") && events.at(-1)?.type !== "voice_done";
  });
  await settled();
  expect([below(late), below(quick), below(thanks)]).toEqual([["Late."], ["Quick."], []]);
  expect(await reminders()).toBe(before + 1);
});

test("what is said to the channel answers all in it; what is said elsewhere answers nobody", async () => {
  const id = write("all?", tool("message", { to: "discord:#ops", content: "To all." }), { text: "ok" });
  await until("the words", () =>
    all.discord.driver.messages(ops).some(({ content }) => content === "To all."),
  );
  await settled();
  expect(below(id)).toEqual([]);
  const closed = write(
    "closed?",
    tool("message", { to: "discord:#nowhere", content: "x" }),
    { text: "a" },
    { text: "b" },
  );
  await until("the line", () => below(closed).includes(UNANSWERED));
  await settled();
  expect(below(closed)).toEqual([UNANSWERED]);
});
