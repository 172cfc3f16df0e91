/** A person loses their role in the midst of an agent's turn, by the real relay, sidecar and runner. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { agentTalk, bash } from "../support/agent-talk.ts";
import { STAND_IN_CONFIG, script, wordsOf } from "../support/agents.ts";
import { callAs } from "../support/call-as.ts";
import { callTool } from "../support/mcp.ts";
import { type Everything, startEverything } from "../support/relay.ts";
import { until } from "../support/wait.ts";

let all: Everything;
/** A maker who begins the thread and the job, and a member who stays. */
let ada: string;
let bo: string;
const { untilMessage, press } = agentTalk(() => all);

const call = async (as: string | undefined, method: string, path: string, body?: object) => {
  const { status, text } = await callAs(all.sidecar, as, method, path, body);
  return { status, body: JSON.parse(text) as Record<string, unknown> };
};
const give = async (id: string, role: string | null) =>
  expect((await call(undefined, "PUT", "/people/role", { id, role })).status).toBe(200);

beforeAll(async () => {
  const users = [{ name: "Ada" }, { name: "Bo" }];
  all = await startEverything({ isQuick: true, vm: STAND_IN_CONFIG, discord: { users } });
  const idOf = (name: string) => all.discord.users.find((user) => user.name === name)?.id ?? "";
  [ada, bo] = [idOf("Ada"), idOf("Bo")];
  await give(ada, "maker");
  await give(bo, "member");
});
afterAll(() => all?.close());

test("asks stay open for others, what the person writes and presses is refused, and their job is paused", async () => {
  const { driver, channelId } = all.discord;
  const prompt = script("Do it", bash("mkdir built"), { text: "Built." });
  const begin = () => driver.command(ada, channelId, "agent", { dir: ".", prompt });
  // The relay hears of a new role with its next look.
  const threadId = await until(
    "Ada's thread",
    async () => /<#(\d+)>/.exec((await begin().reply()).content)?.[1],
  );
  const ask = await untilMessage(threadId, "May the agent do this?");
  expect(ask.notified).toEqual([ada]);
  const dueAt = new Date(Date.now() + 5_000).toISOString();
  const made = await call(ada, "POST", "/jobs", {
    name: "later",
    when: { type: "at", at: dueAt },
    what: { type: "command", dir: ".", command: "touch ran" },
  });
  expect(made).toMatchObject({ status: 201, body: { state: "active" } });

  await give(ada, null);
  const refused = await until("her press to be refused", async () => {
    const { content, isEphemeral } = await press(ask, "Allow once", ada).reply();
    return isEphemeral ? content : undefined;
  });
  expect(refused).toContain("not on the list");
  driver.post(ada, threadId, script("Never mind", { text: "Heard her." }));
  expect((await call(ada, "POST", `/thread/${threadId}/interrupt`, {})).status).toBe(403);
  expect((await call(undefined, "GET", `/thread/${threadId}`)).body).toMatchObject({ status: "waiting" });
  expect(existsSync(join(all.sidecar.reposDir, "built"))).toBe(false);

  press(ask, "Allow once", bo);
  await untilMessage(threadId, "Built.");
  await untilMessage(threadId, `by <@${bo}>`);
  expect(existsSync(join(all.sidecar.reposDir, "built"))).toBe(true);

  const job = await until("the job to be paused", async () => {
    const { body } = await call(undefined, "GET", "/jobs/later");
    return body["state"] === "active" ? undefined : body;
  });
  expect(job).toMatchObject({ state: "paused", why: expect.stringContaining("may no longer do so") });
  await until("that it is said", () =>
    driver.messages(channelId).some(({ content }) => content.includes("may no longer do so")),
  );
  expect(existsSync(join(all.sidecar.reposDir, "ran"))).toBe(false);
  expect(await wordsOf(all.sidecar, threadId)).toEqual(["Built."]);
});

// Promise: S1
test("an agent that a job of theirs has made uses no tool for them any more", async () => {
  await give(ada, "maker");
  const prompt = script("Look", { text: "Looked." });
  const job = {
    name: "look",
    when: { type: "words", words: "every 1d" },
    what: { type: "agent", dir: ".", prompt },
  };
  expect(await call(ada, "POST", "/jobs", job)).toMatchObject({ status: 201 });
  const { run } = (await call(ada, "POST", "/jobs/look/run", {})).body;
  const threadId = String(run);
  await until(
    "its run",
    async () => (await call(undefined, "GET", `/thread/${threadId}`)).body["status"] === "idle",
  );
  let calls = 0;
  const spawn = () =>
    callTool(all.sidecar, {
      ...{ threadId, name: "spawn_thread", callId: `call-${++calls}` },
      input: { prompt: script("Work", { text: "Done." }), mode: "async" },
    });
  expect(await spawn()).toContain("Started");
  await give(ada, null);
  expect(await spawn()).toContain("Refused to the person who began this thread");
});
