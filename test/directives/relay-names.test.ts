/** The slash commands that take a thread take its name, its number and its title as they take its id. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { ApplicationCommandOptionType } from "discord.js";
import { afterAll, beforeAll, expect, test } from "vitest";
import { COMMANDS } from "../../relay/discord/commands.ts";
import { STAND_IN_CONFIG, script, untilStatus } from "../support/agents.ts";
import { type Everything, startEverything } from "../support/relay.ts";
import { until } from "../support/wait.ts";

let all: Everything;
beforeAll(async () => {
  all = await startEverything({ isQuick: true, vm: STAND_IN_CONFIG });
  mkdirSync(join(all.sidecar.reposDir, "shop"));
});
afterAll(() => all?.close());

interface Option {
  type: number;
  name: string;
  required?: boolean;
  options?: readonly Option[];
}
const leaves = (name: string, options: readonly Option[] = []): [string, readonly Option[]][] => {
  const subs = options.filter(({ type }) => type === ApplicationCommandOptionType.Subcommand);
  if (subs.length === 0) return [[name, options]];
  return subs.flatMap((sub) => leaves(`${name} ${sub.name}`, sub.options));
};
/** Each command with the options that it demands beside its thread. */
const taking = [...COMMANDS]
  .flatMap(([name, { definition }]) => leaves(name, definition.options as readonly Option[] | undefined))
  .filter(([, options]) => options.some(({ name }) => name === "thread"));
const MORE: Record<string, Record<string, string | number | boolean>> = {
  "thread mode": { mode: "plan" },
  "thread model": { model: "demo" },
  "thread limit": { turns: 99 },
};
const ENDS = ["kill", "thread kill"];
const say = async (command: string, options: object) =>
  (await all.discord.driver.command(all.you, all.discord.channelId, command, options as never).reply())
    .content;

/** Opens an agent at rest whose title is a part of another thread's, and one that is only a number. */
async function open(threadId: string, title: string) {
  const { client } = all.sidecar;
  const made = { dir: "shop", type: "agent", home: "discord", title } as const;
  await client.createThread({ ...made, threadId, command: script("Go", { text: "Done." }) });
  await untilStatus(all.sidecar, threadId, "idle");
  const find = async () => client.getThread(threadId);
  await until("its Discord thread", async () => (await find()).home?.channelId);
  const thread = await find();
  const { name = "", number, home } = thread;
  return [
    ...[threadId, home?.channelId ?? "", `<#${home?.channelId}>`, name, name.toUpperCase()],
    ...[String(number), `#${number}`, title, ` ${title.toUpperCase()} `],
  ];
}

test("the table has every command that takes a thread", () => {
  const names = taking.map(([name]) => name);
  expect(names).toEqual(expect.arrayContaining([...ENDS, "thread pause", "thread history", "thread branch"]));
  const demanded = taking.flatMap(([name, options]) =>
    options.filter((one) => one.required && one.name !== "thread").map((one) => `${name} ${one.name}`),
  );
  expect(demanded).toEqual(["thread mode mode", "thread model model"]);
});

test("each takes an id of both kinds, a mention, the name, the number and the title", async () => {
  const names = await open("worker", "Tidy");
  await open("other", "Tidy the shop");
  const said: string[] = [];
  for (const [command] of taking.filter(([name]) => !ENDS.includes(name))) {
    for (const thread of names)
      said.push(`${command} ${thread}: ${await say(command, { thread, ...MORE[command] })}`);
    expect(await say(command, { thread: "nobody at all", ...MORE[command] })).toContain(
      "there is no thread nobody",
    );
  }
  expect(said.length).toBe((taking.length - ENDS.length) * names.length);
  const wrong = said.filter((words) =>
    /there is no thread|are called so|is needed here|Something went wrong/.test(words),
  );
  expect(wrong).toEqual([]);
  expect(await say("thread pause", { thread: "tidy t" })).not.toContain("⚠️");
  expect((await all.sidecar.client.getThread("other")).status).toBe("paused");
}, 120_000);

test("a thread is ended by each of them", async () => {
  for (const [at, command] of ENDS.entries()) {
    for (const pick of [3, 7]) {
      const threadId = `ends-${at}-${pick}`;
      const names = await open(threadId, `Ends ${at} ${pick}`);
      expect(await say(command, { thread: names[pick] })).toContain("Ended");
      expect((await all.sidecar.client.getThread(threadId)).status).toBe("killed");
    }
  }
}, 120_000);

test("a title of two is refused, unless one of them alone is open", async () => {
  await open("twin", "The twin");
  await open("twin-2", "the twin");
  expect(await say("kill", { thread: "The Twin" })).toBe(
    "⚠️ thread: 2 threads are called so; take a number or a name.",
  );
  await all.sidecar.client.killThread("twin");
  expect(await say("kill", { thread: "The Twin" })).toContain("Ended");
  expect((await all.sidecar.client.getThread("twin-2")).status).toBe("killed");
  // A title of digits is a title, if no agent has that number.
  await open("year", "2025");
  expect(await say("kill", { thread: "2025" })).toContain("Ended");
}, 60_000);
