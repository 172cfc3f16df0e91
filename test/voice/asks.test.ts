/** An open ask does not hold up a channel's agent: it goes on, hears the decision, and the same call then runs once. */
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Round } from "../../agent/engines/demo/script.ts";
import { Vm } from "../../relay/sidecar/vm.ts";
import type { ThreadEvent } from "../../shared/agent/events.ts";
import { STAND_IN_CONFIG, script, transcriptOf } from "../support/agents.ts";
import { aDiscordId } from "../support/ids.ts";
import { type Everything, startEverything } from "../support/relay.ts";
import { until, untilValue } from "../support/wait.ts";

let all: Everything;
let ops: string;
const vm = () => new Vm(all.sidecar.client);
const place = () => join(all.sidecar.reposDir, "shop");
beforeAll(async () => {
  all = await startEverything({ vm: STAND_IN_CONFIG, isQuick: true });
  mkdirSync(place());
  ops = all.discord.driver.createChannel("ops").id;
  await vm().channels.set(aDiscordId(ops), { mode: "main", dir: "shop" });
  await until("its name", async () =>
    (await vm().channels.list()).channels.some(({ id, name }) => id === ops && name === "ops"),
  );
});
afterAll(() => all?.close());

const call = (name: string, input: Record<string, unknown>): Round => ({ tools: [{ name, input }] });
const say = (content: string): Round => call("mcp__threadmux__message", { to: "discord:#ops/you", content });
const bash = (command: string, description: string) => call("Bash", { command, description });
const write = (text: string, ...rounds: Round[]) =>
  all.discord.driver.post(all.you, ops, script(text, ...rounds));
const said = () =>
  all.discord.driver.messages(ops).flatMap(({ author, content }) => (author.isBot ? [content] : []));
const main = async () => (await vm().voice.findMain(ops)).threadId;
const events = async () => transcriptOf(all.sidecar, await main());
const asks = async () => all.sidecar.client.listAsks(await main());
const ask = () =>
  untilValue("one ask", asks, (open) => open.length === 1).then(([first]) => first?.requestId ?? "");
const decide = async (requestId: string, optionId: string) =>
  all.sidecar.client.answerAsk(await main(), requestId, { optionId });
const heardText = (event: ThreadEvent) =>
  event.type === "user_message" ? JSON.stringify(event.content) : "";
const requestsOf = async (what: string) =>
  (await events()).filter((event) => event.type === "permission_request" && event.input.includes(what))
    .length;

test("a message that comes while a person is asked is answered; the decision is told, and the call runs once", async () => {
  write("make it", bash("touch made.txt", "Makes it"));
  const requestId = await ask();
  write(
    "are you there?",
    say("I am."),
    { text: "resting" },
    bash("touch made.txt", "Makes it, as allowed"),
    say("Made."),
    bash("touch made.txt", "And again"),
  );
  await until("its answer", () => said().includes("I am."));
  expect((await asks()).map((open) => open.requestId)).toEqual([requestId]);
  expect(existsSync(join(place(), "made.txt"))).toBe(false);
  await until("its rest", async () => (await all.sidecar.client.getThread(await main())).turn === null);
  await decide(requestId, "once");
  await until("the second answer", () => said().includes("Made."));
  expect(existsSync(join(place(), "made.txt"))).toBe(true);
  expect((await events()).filter((event) => heardText(event).includes("is allowed now"))).toHaveLength(1);
  // The decision counts for one call: the next one is asked about again.
  await decide(await ask(), "no");
  expect(await requestsOf("touch made.txt")).toBe(3);
});

test("a denied call is told so, and an allowed one is asked about again if its file has changed meanwhile", async () => {
  const file = join(place(), "notes.txt");
  const edit = call("Write", { file_path: file, content: "new" });
  write("write it", edit);
  const requestId = await ask();
  write("still there?", say("Yes."), { text: "resting" }, edit, { text: "denied again" });
  await until("its answer", () => said().includes("Yes."));
  await until("its rest", async () => (await all.sidecar.client.getThread(await main())).turn === null);
  writeFileSync(file, "somebody's");
  await decide(requestId, "once");
  await decide(await ask(), "no");
  await until("its end", async () => (await events()).at(-1)?.type !== "permission_response");
  const again = call("Bash", { command: "touch no.txt", description: "x" });
  write("run that", again);
  const denied = await ask();
  write("hm?", say("Hm."), { text: "resting" });
  await until("its answer", () => said().includes("Hm."));
  await decide(denied, "no");
  await until("the word", async () =>
    (await events()).some((event) => heardText(event).includes("that was not run is denied")),
  );
});

test("a question is answered by an input, and is not asked twice", async () => {
  const options = ["red", "blue"].map((label) => ({ label, description: label }));
  const questions = [{ question: "Which colour?", header: "Colour", options, multiSelect: false }];
  write("choose", call("AskUserQuestion", { questions }));
  const requestId = await ask();
  write("and?", say("Waiting for you."), { text: "resting" }, say("Red it is."), { text: "ok" });
  await until("its answer", () => said().includes("Waiting for you."));
  await all.sidecar.client.answerAsk(await main(), requestId, {
    action: "accept",
    content: { "Which colour?": "red" },
  });
  await until("the end", () => said().includes("Red it is."));
  expect((await events()).some((event) => heardText(event).includes('\\"Which colour?\\": red'))).toBe(true);
  expect(await asks()).toEqual([]);
});
