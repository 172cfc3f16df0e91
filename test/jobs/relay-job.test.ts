/** Jobs in Discord: shown before they are created, their runs as Discord threads in which people go on. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterAll, beforeAll, expect, test } from "vitest";
import { jobs } from "../../shared/protocol/jobs.ts";
import { statePaths } from "../../vm/config.ts";
import { STAND_IN_CONFIG, script } from "../support/agents.ts";
import { type Everything, startEverything } from "../support/relay.ts";
import { until } from "../support/wait.ts";

let all: Everything;
beforeAll(async () => {
  all = await startEverything({ isQuick: true, vm: STAND_IN_CONFIG });
});
afterAll(() => all.close());

const use = (command: string, options: Record<string, string | number> = {}) =>
  all.discord.driver.command(all.you, all.discord.channelId, command, options);
const say = async (command: string, options: Record<string, string | number> = {}) =>
  (await use(command, options).reply()).content;

/** A person makes a job that runs a command each so many seconds. */
const create = (name: string, seconds: number, command: string) =>
  all.sidecar
    .as(all.you)
    .call(
      jobs.create,
      {},
      { body: { name, when: { type: "every", seconds }, what: { type: "command", dir: ".", command } } },
    );

test("a job is shown with its next three instants, and begins once it is created", async () => {
  const { driver } = all.discord;
  const prompt = script("Look at the build", { text: "All is green." });
  const asked = use("job add", {
    name: "nightly",
    when: "every weekday at 9",
    zone: "Europe/Berlin",
    dir: ".",
    prompt,
  });
  const question = await asked.reply();
  expect(question.content).toMatch(/^⏰ \*\*nightly\*\* `agent: Look at the build/);
  expect(question.content).toMatch(
    /\nDue (\w{3} \d+ \w{3} 09:00, in \d+ (min|h|days)(; )?){3} \(Europe\/Berlin\)\.\nAt most \$1 a run and \$5 a day\./,
  );
  expect(await say("job list")).toContain("⏸ **nightly** · It was made paused");
  const id = question.buttons.find(({ label }) => label === "Create")?.customId ?? "";
  driver.press(all.you, question.id, id);
  await until("it to be created", () =>
    asked.find()?.content.startsWith("⏰ The job **nightly** is created: next <t:"),
  );

  expect(await say("job run", { job: "nightly" })).toContain("**nightly** runs");
  const place = await until("its Discord thread", () =>
    driver.threads().find(({ name }) => name.includes("nightly")),
  );
  await until("its words", () =>
    driver.messages(place.id).some(({ content }) => content.startsWith("All is green.")),
  );
  expect(driver.messages(place.id)[0]?.content).toContain("started by `job:nightly`");
  await until("its end", async () =>
    (await say("job history", { job: "nightly" })).match(/✅ <t:\d+:f> done · <#\d+> · by <@\d+>/),
  );
  expect(await say("job history", { job: "nightly" })).toContain(`<#${place.id}>`);

  // A person goes on with it there.
  driver.post(all.you, place.id, script("And now?", { text: "Still green." }));
  await until("the answer", () =>
    driver.messages(place.id).some(({ content }) => content.startsWith("Still green.")),
  );

  const { channelId, driver: typing } = all.discord;
  expect(await typing.autocomplete(all.you, channelId, "job pause", { job: "nigh" }, "job")).toMatchObject([
    { name: expect.stringContaining("nightly · agent: Look"), value: "nightly" },
  ]);
  await create("soon", 1_800, "true");
  expect(await say("status")).toMatch(/^⏰ Due within the hour: \*\*soon\*\* <t:\d+:R>$/m);
  await say("job remove", { job: "soon" });

  expect(await say("job pause", { job: "nightly" })).toMatch(/^⏸ \*\*nightly\*\* · Paused by discord:/);
  expect(await say("job resume", { job: "nightly" })).toMatch(/^⏰ \*\*nightly\*\* · <t:\d+:f>, <t:\d+:R>/);
  expect(await say("job remove", { job: "nightly" })).toBe("The job **nightly** is removed.");
});

test("one that is not wanted is gone, and what is wrong is said with its field", async () => {
  const asked = use("job add", { name: "no", when: "in 20m", dir: ".", command: "true" });
  const question = await asked.reply();
  const id = question.buttons.find(({ label }) => label === "Don't")?.customId ?? "";
  all.discord.driver.press(all.you, question.id, id);
  await until("the answer", () => asked.find()?.content === "The job **no** was not created.");
  expect(await say("job list")).toBe("There is no job. Make one with /job add.");
  const bad = { name: "bad", dir: ".", prompt: "x" };
  expect(await say("job add", { ...bad, when: "every 10s" })).toMatch(/^⚠️ when: .*too often/);
  for (const [given, problem] of [
    [{ when: "0 9 1 * 1" }, /both set/],
    [{ when: "0 0 9 * * 1" }, /when\.cron: has 6 fields/],
    [{ when: "at 9", zone: "Nowhere/Land" }, /when\.zone: "Nowhere\/Land" is no time zone/],
    [{ when: "at 2020-01-05 09:00" }, /when\.at: .* is in the past/],
    [{ when: "on turn_ended" }, /"turn_ended" must be the type of an event/],
    [{ when: "on turn_end of nobody" }, /when\.threadId: there is no thread nobody/],
    [{ when: "in 5m", name: "No" }, /name: must begin with a letter/],
    [{ when: "in 5m", dir: "../.." }, /outside/],
  ] as const)
    expect(await say("job add", { ...bad, ...given })).toMatch(problem);
  expect(await say("job add", { ...bad, when: "in 5m", command: "ls" })).toMatch(
    /prompt, terminal, command: take one/,
  );
  expect(await say("job add", { ...bad, when: "in 5m", dir: "nowhere" })).toMatch(/does not exist/);
  expect(await say("job history", { job: "gone" })).toMatch(/There is no job "gone"/);
});

test("what a command prints, and why a job is paused, is said in the channel, once, also by the next relay", async () => {
  const { driver, channelId } = all.discord;
  const said = (part: string) =>
    driver.messages(channelId).filter(({ content }) => content.includes(part)).length;
  const asked = use("job add", {
    name: "backup",
    when: "every 1h",
    dir: ".",
    command: "echo 'saved <@1> ```x'",
  });
  const { id, buttons } = await asked.reply();
  driver.press(all.you, id, buttons.find(({ label }) => label === "Create")?.customId ?? "");
  await until("it to be created", () => asked.find()?.content.includes("is created"));
  await say("job run", { job: "backup" });
  await until("its output", () => said("📋 **backup** has printed:") === 1);
  const output = driver.messages(channelId).find(({ content }) => content.includes("has printed"));
  expect(output?.content).toMatch(/printed:\n```\nsaved <@1> [^\n]*x\n```$/);

  await all.stopRelay();
  await create("bad", 3_600, "exit 3");
  for (let run = 1; run <= 3; run++) {
    await all.sidecar.as(all.you).call(jobs.run, { job: "bad" });
    await until("its end", async () => {
      const { runs } = await all.sidecar.client.call(jobs.listRuns, { job: "bad" });
      return runs.length === run && runs.every(({ endedAt }) => endedAt !== null);
    });
  }
  await all.startRelay();
  await until("that it is paused", () => said("⏸ **bad** is paused: Its last 3 runs failed") === 1);
  await until("all of it to be told", async () => {
    const { news } = await all.sidecar.client.call(jobs.listNews, {}, { query: { untold: "1" } });
    return news.length === 0;
  });
  expect([said("❌ **bad** failed"), said("is paused"), said("has printed")]).toEqual([3, 1, 1]);
});

test("/job add as: the question names the directive's file, and the run is made by it", async () => {
  const folder = join(all.sidecar.stateDir, "directives");
  mkdirSync(folder, { recursive: true });
  const file = join(folder, "critic.md");
  const inputs = "threadmux: { inputs: { depth: { type: number } } }";
  writeFileSync(file, `---\nname: critic\ndescription: Doubts\n${inputs}\n---\nDoubt {{depth}} deep.`);
  const options = { when: "every weekday at 9", dir: ".", as: "critic" };
  const wrong = await say("job add", { ...options, name: "no", prompt: "x", inputs: "depth=three" });
  expect(wrong).toContain("what.agent.inputs.depth: must be a number");
  expect(await say("job add", { ...options, name: "no", command: "ls" })).toContain("as: is for an agent");
  const prompt = script("Look", { text: "Looked." });
  const question = await say("job add", { ...options, name: "doubts", prompt, inputs: "depth=3" });
  expect(question).toMatch(/^⏰ \*\*doubts\*\* `agent as critic: Look/);
  expect(question).toContain("critic.md");
  await say("job run", { job: "doubts" });
  await until("the run's thread", async () =>
    (await all.sidecar.client.listThreads({ status: "all" })).some(({ directive }) => directive === "critic"),
  );
});

test("whether a job is still wanted is asked with two buttons", async () => {
  const { driver, channelId } = all.discord;
  await create("old", 3_600, "true");
  // As after 30 days.
  const database = new Database(statePaths(all.sidecar.stateDir).database);
  const ask = (key: string) =>
    database
      .prepare(
        "INSERT INTO job_news (key, job, kind, text, at) VALUES (?, 'old', 'asks', 'Is it still wanted?', 1)",
      )
      .run(key);
  const question = () =>
    until("the question", () =>
      driver.messages(channelId).find(({ content }) => content.startsWith("❓ **old**")),
    );
  const answer = async (label: string, words: string) => {
    const { id, content, buttons } = await question();
    expect(content).toBe("❓ **old**: Is it still wanted?");
    driver.press(all.you, id, buttons.find((one) => one.label === label)?.customId ?? "");
    await until(words, () => driver.messages(channelId).some((one) => one.content.startsWith(words)));
  };
  ask("asks.1");
  await answer("Go on", "⏰ The job **old** goes on: next <t:");
  ask("asks.2");
  await answer("Pause it", "⏸ The job **old** is paused.");
  database.close();
  expect(await say("job list")).toMatch(/⏸ \*\*old\*\* · Paused by discord:/);
});
