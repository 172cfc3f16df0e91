/** /thread list and /status: what each thread does, and which leave the lists. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { STAND_IN_CONFIG, script, untilStatus } from "../support/agents.ts";
import { startForTest } from "../support/relay.ts";
import { untilValue } from "../support/wait.ts";

test("list: what each thread does; the ended and long idle leave after some minutes, all shows them", async (context) => {
  // The clock of Discord and relay goes forward only: what was counted ahead of it would close Discord for long.
  let ahead = 0;
  const all = await startForTest(context, {
    isQuick: true,
    vm: STAND_IN_CONFIG,
    now: () => Date.now() + ahead,
  });
  mkdirSync(join(all.sidecar.reposDir, "shop"));
  const command = (name: string, options = {}) =>
    all.discord.driver.command(all.you, all.discord.channelId, name, options);
  const say = async (name: string, options = {}) => (await command(name, options).reply()).content;
  const fixing = script(
    "Fix",
    { tools: [{ name: "Bash", input: { command: "touch fixed" } }] },
    { text: "Fixed." },
  );
  const { content } = await command("agent", { dir: "shop", prompt: fixing }).reply();
  const threadId = /<#(\d+)>/.exec(content)?.[1] ?? "";
  const number = 1;
  const terminal = await all.openTerminal("exec sleep 1000", "shop");
  await untilStatus(all.sidecar, threadId, "waiting");
  expect(await say("thread list")).toMatch(
    new RegExp(
      `^<#${terminal}> · running\n\\*\\*#${number}\\*\\* <#${threadId}> · \\*\\*asks to do something\\*\\* · step 1 · began <t:\\d+:R>$`,
    ),
  );
  expect(await say("thread list", { which: "agent" })).not.toContain(terminal);
  const [ask] = await all.sidecar.client.listAsks(threadId);
  const answer = { optionId: "once" };
  await all.sidecar.client.answerAsk(threadId, ask?.requestId ?? "", answer);
  await untilStatus(all.sidecar, threadId, "idle");
  expect(await say("thread list", { which: "agent" })).toMatch(/> · idle · \d+\.\d s ago$/);
  expect(await say("status")).toContain(`**#${number} `);
  ahead = 11 * 60_000;
  expect(await say("thread list", { which: "agent" })).toBe(
    "Nothing goes on.\n-# 1 more is idle or over: `/thread list all:True`",
  );
  expect(await say("status")).toMatch(new RegExp(`${terminal}[^]*1 more is idle or over`));
  expect(await say("thread list", { which: "agent", all: true })).toContain(`**#${number}** <#${threadId}>`);
  expect(await say("thread kill", { thread: `#${number}` })).toContain(
    `⏹ Ended **#${number}** <#${threadId}>`,
  );
  expect(await say("thread kill", { thread: `#${number}` })).toBe("⚠️ thread: that one is over already.");
});

test("list: a child stands below its parent, which says for whom it waits", async (context) => {
  const all = await startForTest(context, { isQuick: true, vm: STAND_IN_CONFIG });
  mkdirSync(join(all.sidecar.reposDir, "shop"));
  const command = (name: string, options = {}) =>
    all.discord.driver.command(all.you, all.discord.channelId, name, options);
  const part = {
    name: "mcp__threadmux__spawn_thread",
    input: {
      title: "the tests",
      prompt: script("Part", { tools: [{ name: "Bash", input: { command: "touch part" } }] }),
    },
  };
  const { content } = await command("agent", {
    dir: "shop",
    prompt: script("Split it", { tools: [part] }, { text: "All done." }),
  }).reply();
  const parentId = /<#(\d+)>/.exec(content)?.[1] ?? "";
  const later = await all.openTerminal("exec sleep 1000", "shop");
  const list = async () => (await command("thread list").reply()).content;
  const expected = new RegExp(
    `^<#${later}> · running\\n\\*\\*#1\\*\\* <#${parentId}> · running · step 1 · began <t:\\d+:R> · Waiting for the tests\\n└ 🤖 \\*\\*#2\\*\\* <#\\d+> · \\*\\*asks to do something\\*\\* · step 1 · began <t:\\d+:R>$`,
  );
  await untilValue("the child in the list", list, (text) => expected.test(text));
});
