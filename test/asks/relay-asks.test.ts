/** What agents ask people in Discord: permissions, questions and plans, with the real relay, sidecar and runner. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { botApi } from "../../local-discord/testing.ts";
import { agentTalk, asks, bash } from "../support/agent-talk.ts";
import { STAND_IN_CONFIG, script, transcriptOf } from "../support/agents.ts";
import { type Everything, startEverything } from "../support/relay.ts";
import { until } from "../support/wait.ts";

let all: Everything;
/** Allowed to use the bot, as `you` are. */
let robin: string;
const { open, messages, untilMessage, press, choose, now } = agentTalk(() => all);

beforeAll(async () => {
  all = await startEverything({
    isQuick: true,
    vm: STAND_IN_CONFIG,
    discord: { users: [{ name: "Mallory" }, { name: "Robin" }] },
  });
  robin = all.discord.users.find(({ name }) => name === "Robin")?.id ?? "";
  // The relay of the tests serves one person; this one serves two.
  await all.stopRelay();
  (all.relayConfig.allowedUserIds as Set<string>).add(robin);
  await all.startRelay();
});
afterAll(() => all?.close());

const labels = (message: Parameters<typeof now>[0]) => now(message).buttons.map(({ label }) => label);
const isMade = (name: string) => existsSync(join(all.sidecar.reposDir, name));
/** What the model read last. */
const heard = async (threadId: string) =>
  JSON.stringify(
    (await transcriptOf(all.sidecar, threadId)).filter(({ type }) => type === "tool_call_update"),
  );

test("an ask says what, where and why, and its buttons name the rule that they grant", async () => {
  const threadId = await open(
    "Do it",
    bash("mkdir built", { description: "Make the folder for the build" }),
    bash("mkdir built twice -p"),
    { text: "Built." },
  );
  const ask = await untilMessage(threadId, "May the agent do this?");
  expect(ask.content).toContain(`<@${all.you}>`);
  expect(ask.notified).toEqual([all.you]);
  expect(ask.content).toContain("```sh\nmkdir built\n```");
  expect(ask.content).toContain("-# in . · Make the folder for the build");
  expect(labels(ask)).toEqual([
    "Allow once",
    'Allow "mkdir built *" in this thread',
    "Deny",
    "Deny, because…",
  ]);
  press(ask, 'Allow "mkdir built *" in this thread');
  await untilMessage(threadId, "Built.");
  // The second call falls under the rule: nobody was asked again.
  expect(messages(threadId).filter(({ content }) => content.includes("May the agent"))).toHaveLength(1);
  await untilMessage(threadId, `✓ Allow "mkdir built \\*" in this thread by <@${all.you}>`);
  expect(isMade("twice")).toBe(true);
  expect(existsSync(join(all.sidecar.reposDir, ".claude"))).toBe(false);
});

test("Deny, because…: the reason that was typed reaches the model and stands below the ask", async () => {
  const threadId = await open("Do it", bash("touch because"), { text: "I see." });
  const ask = await untilMessage(threadId, "May the agent do this?");
  const pressed = press(ask, "Deny, because…");
  const form = await until("a form", () => pressed.form());
  expect(form).toMatchObject({ title: "Deny, because…", inputs: [{ label: "Why not?", isRequired: false }] });
  const sent = pressed.submit({ reason: "use the other folder" });
  await untilMessage(threadId, "I see.");
  expect(sent.followUps()).toEqual([]);
  expect(await heard(threadId)).toContain("use the other folder");
  await untilMessage(threadId, `-# ✗ Deny by <@${all.you}>: use the other folder`);
  expect(labels(ask)).toEqual([]);
  expect(isMade("because")).toBe(false);
});

// Promise: S33
test("what a command hides is made visible, and no rule is offered for it", async () => {
  const threadId = await open("Do it", bash("echo safe\u202e # x\u200b\u3164\u0007"), { text: "Fine." });
  const ask = await untilMessage(threadId, "May the agent do this?");
  expect(ask.content).toContain("echo safe⟨U+202E⟩ # x⟨U+200B⟩⟨U+3164⟩⟨U+0007⟩");
  expect(labels(ask)).toEqual(["Allow once", "Deny", "Deny, because…"]);
  press(ask, "Deny");
  await untilMessage(threadId, "Fine.");
});

test("a change of 10,000 lines: Show all stands first, and gives the whole of it as a file", async () => {
  const lines = Array.from({ length: 5_000 }, (_, i) => `line ${i}`);
  const change = { file_path: "**big**.txt", old_string: lines.join("\n"), new_string: lines.join(";\n") };
  const threadId = await open("Hello", { text: "Hello." });
  await untilMessage(threadId, "Hello.");
  // A command takes 6,000 characters, a message 2,000, and a longer text that is attached stays a file.
  const prompt = script("Do it", { tools: [{ name: "Edit", input: change }] }, { text: "Fine." });
  await all.sidecar.as(all.you).sendInput(threadId, { text: prompt });
  const ask = await untilMessage(threadId, "May the agent do this?");
  expect(ask.content.length).toBeLessThanOrEqual(2_000);
  expect(ask.content).toMatch(/\n\(cut: 1\d\d\.\d kB in all\)\n```/);
  expect(labels(ask)[0]).toBe("Show all");
  const shown = await press(ask, "Show all").reply();
  expect(shown.isEphemeral).toBe(true);
  // A name is no Markdown.
  expect(shown.content).toMatch(/^Edit .*big/);
  expect(shown.content).not.toContain("**big**");
  const [file] = shown.attachments;
  expect(file?.name).toBe("ask.diff");
  const text = all.discord.driver.attachment(file?.id ?? "").toString();
  expect(text.split("\n")).toHaveLength(10_000);
  expect(text).toContain("- line 0\n");
  expect(text.endsWith("+ line 4999")).toBe(true);
  press(ask, "Deny");
  await untilMessage(threadId, "Fine.");
});

test("of two people who press at once one decides, and the other reads that", async () => {
  const threadId = await open("Do it", bash("touch raced"), { text: "Very well." });
  const ask = await untilMessage(threadId, "May the agent do this?");
  const form = press(ask, "Deny, because…", robin);
  await until("a form", () => form.form());
  const pressed = [press(ask, "Allow once"), press(ask, "Deny", robin)];
  await untilMessage(threadId, "Very well.");
  await until("a word to one of them", () => pressed.flatMap((one) => one.followUps()).length === 1);
  const late = pressed.find((one) => one.followUps().length > 0);
  expect(late?.followUps()[0]).toMatchObject({
    content: "⚠️ Somebody has answered this already.",
    isEphemeral: true,
  });
  const isAllowed = late === pressed[1];
  expect(isMade("raced")).toBe(isAllowed);
  await untilMessage(threadId, isAllowed ? `✓ Allow once by <@${all.you}>` : `✗ Deny by <@${robin}>`);
  // Whoever still had the form open reads it too.
  const sent = form.submit({ reason: "no" });
  await until("a word to the form", () => sent.followUps()[0]?.content.includes("answered this already"));
});

test("a stranger who presses decides nothing and reads why", async () => {
  const threadId = await open("Do it", bash("touch strange"), { text: "Very well." });
  const ask = await untilMessage(threadId, "May the agent do this?");
  for (const label of labels(ask)) {
    const { content, isEphemeral } = await press(ask, label, all.stranger).reply();
    expect({ content, isEphemeral }).toEqual({
      content: `You are not on the list of people who may use this bot (ALLOWED_USER_IDS, /here who:). Owners, makers and members could: <@${all.you}>, <@${robin}>.`,
      isEphemeral: true,
    });
  }
  expect(labels(ask)).toHaveLength(4);
  press(ask, "Deny");
  await untilMessage(threadId, "Very well.");
  expect(isMade("strange")).toBe(false);
});

test("buttons of last month's ask answer clearly, in a session that goes on and in one that nobody knows", async () => {
  const threadId = await open("Hello", { text: "Hello." });
  await untilMessage(threadId, "Hello.");
  const foreign = all.discord.driver.createThread(all.you, "an old session").id;
  const id = "0f0e0d0c-0000-4000-8000-000000000000";
  const kinds = [`ask:${id}:once`, `because:${id}:no`, `form:${id}`, `answer:${id}:0`, `show:${id}`];
  const components = [
    { type: 1, components: kinds.map((custom_id) => ({ type: 2, style: 2, label: custom_id, custom_id })) },
  ];
  for (const channel of [threadId, foreign]) {
    // A message of an earlier relay.
    const sent = await botApi(all.discord)("POST", `/channels/${channel}/messages`, {
      content: "old",
      components,
    });
    const message = String(sent.body["id"]);
    for (const kind of kinds) {
      const pressed = all.discord.driver.press(all.you, message, kind);
      const said = await until(`a word to ${kind}`, () => {
        const found = pressed.followUps()[0] ?? pressed.find();
        return found && !found.isLoading && found.id !== message ? found : undefined;
      });
      expect(said.content).toMatch(/^⚠️ This (is of a session that is over|has been answered already)/);
      expect(said.isEphemeral).toBe(true);
    }
  }
});

const option = (label: string, description = "") => ({ label, description });
const question = (text: string, options: object[], multiSelect = false) => ({
  question: text,
  header: text.slice(0, 12),
  multiSelect,
  options,
});

test("five options are a list; labels of 300 characters are whole in the text; none at all are words", async () => {
  const long = (mark: string) => `${mark} ${"very ".repeat(58)}long`;
  const threadId = await open(
    "Ask",
    asks(
      question(
        "Which day?",
        ["Mon", "Tue", "Wed", "Thu", "Fri"].map((day) => option(day)),
      ),
    ),
    asks(question("How long?", [option(long("A")), option(long("B"))])),
    asks(question("What else?", [])),
    { text: "Thanks." },
  );
  const first = await untilMessage(threadId, "Which day?");
  expect(labels(first)).toEqual(["Other…", "Don't answer"]);
  choose(first, "Which day?", 4);
  await untilMessage(threadId, /✓ Answered by <@\d+>: Fri/);
  const second = await untilMessage(threadId, "How long?");
  expect(second.content).toContain(`- **${long("A")}**\n- **${long("B")}**`);
  choose(second, "How long?", 1);
  await untilMessage(threadId, /✓ Answered by <@\d+>: B very/);
  const third = await untilMessage(threadId, "What else?");
  expect(labels(third)).toEqual(["Answer…", "Don't answer"]);
  const pressed = press(third, "Answer…");
  await until("a form", () => pressed.form());
  pressed.submit({ q0: "tea" });
  await untilMessage(threadId, "Thanks.");
  expect(await heard(threadId)).toContain("tea");
});

test("several questions are lists whose choices are kept in the message", async () => {
  const threadId = await open(
    "Ask",
    asks(
      question("Which base?", [option("SQLite", "a file"), option("Postgres", "a server")]),
      question("Which parts?", [option("Auth"), option("Logs"), option("Jobs")], true),
    ),
    { text: "Thanks." },
  );
  const ask = await untilMessage(threadId, "Which base?");
  expect(labels(ask)).toEqual(["Other…", "Don't answer"]);
  choose(ask, "Which base?", 1);
  await until("the choice to be kept", () => labels(ask)[0] === "Send answers");
  choose(ask, "Which parts?", 0, 2);
  const chosen = () => JSON.stringify(now(ask).components).match(/"label":"[^"]*"[^}]*"default":true/g) ?? [];
  await until("both choices", () => chosen().length === 3);
  press(ask, "Send answers");
  await untilMessage(threadId, /✓ Answered by <@\d+>: Postgres · Auth, Logs|: Postgres · Auth, Jobs/);
  await untilMessage(threadId, "Thanks.");
  expect(await heard(threadId)).toContain("Auth, Jobs");
});

test("several questions over a restart of the relay: what was chosen before counts", async () => {
  const threadId = await open(
    "Ask",
    asks(
      question("Which base?", [option("SQLite"), option("Postgres")]),
      question("Which place?", [option("Here"), option("There")]),
    ),
    { text: "Thanks." },
  );
  const ask = await untilMessage(threadId, "Which base?");
  choose(ask, "Which base?", 1);
  await until("the choice to be kept", () => labels(ask)[0] === "Send answers");
  await all.stopRelay();
  await all.startRelay();
  choose(ask, "Which place?", 0);
  const chosen = () => JSON.stringify(now(ask).components).match(/"default":true/g)?.length;
  await until("both choices", () => chosen() === 2);
  press(ask, "Send answers");
  await untilMessage(threadId, /✓ Answered by <@\d+>: Postgres · Here/);
  await untilMessage(threadId, "Thanks.");
  expect(await heard(threadId)).toContain("Postgres");
  expect(messages(threadId).filter(({ content }) => content.includes("Which base?"))).toHaveLength(1);
});

test("a plan is sent back with words, and approved", async () => {
  const plan = { name: "ExitPlanMode", input: { plan: "# Plan\n1. one" } };
  const threadId = await open("Plan", { tools: [plan] }, { tools: [plan] }, { text: "Go." });
  const first = await untilMessage(threadId, "The agent has a plan");
  expect(first.content).toContain("```md\n# Plan\n1. one\n```");
  expect(labels(first)).toEqual(["Approve", "Approve, and let it edit", "Keep planning…"]);
  const pressed = press(first, "Keep planning…");
  expect((await until("a form", () => pressed.form())).title).toBe("Keep planning");
  pressed.submit({ reason: "and tests" });
  await untilMessage(threadId, "✗ Keep planning by");
  const second = await until("the next plan", () =>
    messages(threadId).find(({ content, id }) => content.includes("has a plan") && id !== first.id),
  );
  expect(await heard(threadId)).toContain("and tests");
  press(second, "Approve, and let it edit");
  await untilMessage(threadId, "Go.");
});

test("a plan that is approved while its thread is paused stays one message with who approved, over a new relay", async () => {
  const plan = { name: "ExitPlanMode", input: { plan: "# Plan\n1. one" } };
  const threadId = await open("Plan", { tools: [plan] }, { text: "Go." });
  const ask = await untilMessage(threadId, "The agent has a plan");
  await all.sidecar.client.controlAgent(threadId, { control: "pause" });
  await untilMessage(threadId, "Paused.");
  press(ask, "Approve");
  await untilMessage(threadId, `✓ Approve by <@${all.you}>`);
  await all.stopRelay();
  await all.startRelay();
  await all.sidecar.client.controlAgent(threadId, { control: "resume" });
  await untilMessage(threadId, "Go.");
  const plans = messages(threadId).filter(({ content }) => content.includes("has a plan"));
  expect(plans.map(({ id, content }) => [id, content.split("\n").at(-1)])).toEqual([
    [ask.id, `-# ✓ Approve by <@${all.you}>`],
  ]);
});

test.each(["at once", "later"])(
  "an open ask that somebody deletes %s comes back, and can be answered",
  async (when) => {
    const [one = "", two = ""] = ["one", "two"].map((name) => `deleted-${name}-${when.slice(-4)}`);
    const tools = [one, two].map((file) => ({ name: "Bash", input: { command: `touch ${file}` } }));
    const threadId = await open("Do it", { tools }, { text: "Done." });
    const isFirst = ({ content }: { content: string }) =>
      content.includes("May the") && content.includes(one);
    // Seen in the moment in which it is posted: the relay has no answer yet.
    const first = await all.discord.driver.until(() => messages(threadId).find(isFirst), { what: "the ask" });
    const rows = async () => (await all.sidecar.client.listLedgers())[threadId] ?? [];
    const isKnown = async () => (await rows()).some(({ messageId }) => messageId === first.id);
    if (when === "later") await until("the relay to know it", isKnown);
    all.discord.driver.deleteMessage(all.you, threadId, first.id);
    const again = await until("the ask to come back", () =>
      messages(threadId).find((message) => isFirst(message) && message.id !== first.id),
    );
    press(again, "Allow once");
    press(await untilMessage(threadId, new RegExp(`May the agent do this.*${two}`)), "Allow once");
    await untilMessage(threadId, "Done.");
    expect(isMade(one) && isMade(two)).toBe(true);
  },
);
