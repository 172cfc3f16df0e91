/** Files that a channel's agent sends with `message`: what goes out, once each, and what is refused. */
import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Vm } from "../../relay/sidecar/vm.ts";
import { STAND_IN_CONFIG, script } from "../support/agents.ts";
import { aDiscordId } from "../support/ids.ts";
import { callTool } from "../support/mcp.ts";
import { type Everything, startEverything } from "../support/relay.ts";
import { relayConfigFor } from "../support/relay-config.ts";
import { bundleRelay, makeRelayProcess } from "../support/relay-process.ts";
import { until } from "../support/wait.ts";

let all: Everything;
let ops: string;
let dir: string;
let main: string;
beforeAll(async () => {
  all = await startEverything({ vm: STAND_IN_CONFIG, isQuick: true });
  dir = join(all.sidecar.reposDir, "app");
  mkdirSync(dir);
  const vm = new Vm(all.sidecar.client);
  ops = all.discord.driver.createChannel("ops").id;
  await vm.channels.set(aDiscordId(ops), { mode: "main", dir: "app" });
  await until("its name", async () =>
    (await vm.channels.list()).channels.some(({ id, name }) => id === ops && name === "ops"),
  );
  const input = { to: "discord:#ops/you", content: "Hello." };
  all.discord.driver.post(
    all.you,
    ops,
    script("hi", { tools: [{ name: "mcp__threadmux__message", input }] }, { text: "ok" }),
  );
  await until("the answer", () => said().includes("Hello."));
  main = (await vm.voice.findMain(ops)).threadId;
});
afterAll(() => all?.close());

const bots = () => all.discord.driver.messages(ops).filter(({ author }) => author.isBot);
const said = () => bots().map(({ content }) => content);
const files = () =>
  bots().flatMap(({ attachments }) =>
    attachments.map(({ id, name }) => `${name} ${all.discord.driver.attachment(id)}`),
  );
const say = (callId: string, input: object) =>
  callTool(all.sidecar, {
    ...{ threadId: main, name: "message", callId },
    input: { to: "discord:#ops", content: callId, ...input },
  });

/** A person writes, so the agent may write there again. */
async function hear(): Promise<void> {
  const done = { tools: [{ name: "mcp__threadmux__done", input: {} }] };
  const { id } = all.discord.driver.post(all.you, ops, script("go on", done, { text: "ok" }));
  await until("it to be read", () =>
    all.discord.driver
      .messages(ops)
      .some((message) => message.id === id && (message.reactions?.length ?? 0) > 0),
  );
}

test("the files stand below the text in their order, once, also if the call comes again", async () => {
  writeFileSync(join(dir, "a.txt"), "one");
  writeFileSync(join(dir, "b_*.txt"), "two");
  const call = () => say("Here they are.", { files: ["a.txt", join(dir, "b_*.txt")] });
  expect(await call()).toMatch(/^Queued as m\d+/);
  // What is sent is what was there when the agent said it.
  writeFileSync(join(dir, "a.txt"), "changed");
  expect(await call()).toMatch(/^Queued as m\d+/);
  await until("both files", () => files().length === 2);
  expect(await say("Behind them.", {})).toMatch(/^Queued/);
  await until("what comes next", () => said().includes("Behind them."));
  expect(files()).toEqual(["a.txt one", "b__.txt two"]);
  expect(said().filter((content) => content === "Here they are.")).toHaveLength(1);
});

test("a relay that is killed between text and files sends the rest, and nothing twice", {
  timeout: 120_000,
}, async () => {
  await hear();
  const program = await bundleRelay({ isQuick: true });
  const config = { ...relayConfigFor(all.sidecar, all.discord), pollIntervalMs: 250 };
  const relay = makeRelayProcess(program, config, all.sidecar.folders.home);
  await all.stopRelay();
  try {
    const names = Array.from({ length: 12 }, (_, at) => `k${at}.txt`);
    for (const name of names) writeFileSync(join(dir, name), name);
    for (let at = 0; at < names.length; at += 3)
      expect(await say(`part ${at}`, { files: names.slice(at, at + 3) })).toMatch(/^Queued/);
    const sent = () => files().filter((file) => file.startsWith("k"));
    relay.start();
    for (const count of [1, 4, 8]) {
      await until(`${count} files`, () => sent().length >= count, { timeoutMs: 40_000, intervalMs: 5 });
      await relay.kill9();
      relay.start();
    }
    await until("all files", () => sent().length >= names.length, { timeoutMs: 40_000 });
    expect(await say("The end.", {})).toMatch(/^Queued/);
    await until("what comes next", () => said().includes("The end."), { timeoutMs: 40_000 });
    expect(sent()).toEqual(names.map((name) => `${name} ${name}`));
    const parts = said().filter((content) => content.startsWith("part "));
    expect(parts).toEqual(["part 0", "part 3", "part 6", "part 9"]);
  } finally {
    await relay.stop();
    await program.remove();
    await all.startRelay();
  }
});

// Promise: S27
test("nothing else leaves the directory by it, and a refused file takes the text with it", async () => {
  await hear();
  const before = [said().length, files().length];
  writeFileSync(join(dir, ".env"), "KEY=1");
  writeFileSync(join(dir, "fine.txt"), "fine");
  writeFileSync(join(dir, "big.bin"), Buffer.alloc(10 * 1024 * 1024 + 1));
  symlinkSync(join(all.sidecar.stateDir, "threads", main, "mcp.json"), join(dir, "notes.txt"));
  symlinkSync("/etc", join(dir, "folder"));
  execFileSync("mkfifo", [join(dir, "pipe")]);
  const tried: [string, string][] = [
    ["../x", "no such file"],
    ["/etc/hostname", "outside"],
    ["folder/hostname", "outside"],
    ["notes.txt", "outside"],
    [join(all.sidecar.stateDir, "threads", main, "mcp.json"), "outside"],
    [".env", "secret"],
    ["big.bin", "10 MiB"],
    ["pipe", "no file"],
    [".", "no file"],
  ];
  for (const [path, why] of tried)
    expect(await say(`no ${path}`, { files: ["fine.txt", path] }), path).toContain(why);
  expect(await say("many", { files: Array(5).fill("fine.txt") })).toContain("must be at most 4");
  expect(await say("family", { to: "thread:#1", files: ["fine.txt"] })).toContain("files: go to channels");
  expect(await say("elsewhere", { to: "discord:#other", files: ["fine.txt"] })).toContain("not open to you");
  // Its directory was swapped for a link to another one.
  const elsewhere = join(all.sidecar.folders.home, "elsewhere");
  mkdirSync(elsewhere);
  writeFileSync(join(elsewhere, "plan"), "somebody else's");
  rmSync(dir, { recursive: true });
  symlinkSync(elsewhere, dir);
  expect(await say("swapped", { files: ["plan"] })).toContain("outside");
  rmSync(dir);
  mkdirSync(dir);
  expect(await say("After all.", {})).toMatch(/^Queued/);
  await until("what went through", () => said().includes("After all."));
  expect([said().length, files().length]).toEqual([(before[0] ?? 0) + 1, before[1]]);
});
