/** `/logs`: a thread that follows, with its buttons. */
import { appendFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Everything, startEverything } from "../support/relay.ts";

let all: Everything;

beforeAll(async () => {
  all = await startEverything({ isQuick: true });
  mkdirSync(join(all.sidecar.reposDir, "shop"));
});
afterAll(() => all?.close());

const file = (name: string) => join(all.sidecar.reposDir, "shop", name);
const reply = async (options: Record<string, string>) =>
  (
    await all.discord.driver
      .command(all.you, all.discord.channelId, "logs", { dir: "shop", ...options })
      .reply()
  ).content;

async function open(options: Record<string, string>): Promise<string> {
  const said = await reply(options);
  const threadId = /<#(\d+)>/.exec(said)?.[1];
  if (threadId === undefined) throw new Error(said);
  return threadId;
}

const newest = (threadId: string) =>
  all.discord.driver.messages(threadId).findLast(({ buttons }) => buttons.length > 0);
const untilButtons = (threadId: string, labels: string[]) =>
  all.discord.driver.until(
    () =>
      newest(threadId)
        ?.buttons.map(({ label }) => label)
        .join() === labels.join(),
    {
      what: `buttons ${labels.join()}, not ${newest(threadId)
        ?.buttons.map(({ label }) => label)
        .join()}`,
    },
  );

function press(threadId: string, label: string) {
  const message = newest(threadId);
  const button = message?.buttons.find((one) => one.label === label);
  if (!message || !button) throw new Error(`there is no ${label}`);
  return all.discord.driver.press(all.you, message.id, button.customId ?? "");
}

test("Pause holds what is shown, over a restart of the relay; Go on shows what came", async () => {
  writeFileSync(file("app.log"), "first line\n");
  const threadId = await open({ service: "app.log" });
  expect(all.discord.driver.findThread(threadId)?.name).toBe("🖥 shop — logs app.log");
  await all.untilShown(threadId, "first line");
  await untilButtons(threadId, ["Pause", "Grep…", "Done"]);
  press(threadId, "Pause");
  await untilButtons(threadId, ["Go on", "Grep…", "Done"]);
  await all.stopRelay();
  appendFileSync(file("app.log"), "in the pause\n");
  await all.startRelay();
  await untilButtons(threadId, ["Go on", "Grep…", "Done"]);
  expect(all.terminalText(threadId)).not.toContain("in the pause");
  press(threadId, "Go on");
  await all.untilShown(threadId, "in the pause");
  await untilButtons(threadId, ["Pause", "Grep…", "Done"]);
});

test("Grep shows only lines that hold a text, over a restart of the relay; All lines shows all", async () => {
  writeFileSync(file("web.log"), "GET /\n");
  const threadId = await open({ service: "*.log", grep: "POST" });
  await untilButtons(threadId, ["Pause", "Grep…", "All lines", "Done"]);
  const pressed = press(threadId, "Grep…");
  const form = await all.discord.driver.until(() => pressed.form(), { what: "a form" });
  expect(form.title).toBe("Only lines that hold…");
  pressed.submit({ text: "PUT" });
  await all.untilShown(threadId, 'lines that hold "PUT"');
  await all.stopRelay();
  appendFileSync(file("web.log"), "GET /two\nPUT /three\n");
  await all.startRelay();
  await all.untilShown(threadId, "PUT /three");
  expect(all.terminalText(threadId)).not.toContain("GET /");
  press(threadId, "All lines");
  await all.untilShown(threadId, "GET /two");
  await untilButtons(threadId, ["Pause", "Grep…", "Done"]);
});

test("a message to such a thread is not typed, and says why", async () => {
  const threadId = await open({ service: "app.log" });
  await untilButtons(threadId, ["Pause", "Grep…", "Done"]);
  all.discord.driver.post(all.you, threadId, "hello");
  await all.discord.driver.until(() => all.discord.driver.text(threadId).includes("takes no text"), {
    what: "the answer",
  });
});

test("service is completed from the directory that was chosen", async () => {
  const { driver, channelId } = all.discord;
  const choices = await driver.autocomplete(
    all.you,
    channelId,
    "logs",
    { dir: "shop", service: "ap" },
    "service",
  );
  expect(choices).toEqual([{ name: "app.log", value: "app.log" }]);
});

test("what can't be followed is said to who asked, and no thread is left", async () => {
  const before = all.discord.driver.threads().length;
  expect(await reply({ service: "no.log" })).toContain('there is no "no.log": it is no file here');
  expect(await reply({ service: "-f" })).toContain("service: must not begin with -");
  expect(all.discord.driver.threads().length).toBe(before);
});
