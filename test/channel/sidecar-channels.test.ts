/** Channels as rows on the sidecar: what is set of each, by whom, and what is refused. */
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import type { ChannelRow } from "../../shared/channel-api.ts";
import type { SidecarClient } from "../../shared/client.ts";
import { sha256Of, trustedNote } from "../../shared/directives/trusted.ts";
import { channels } from "../../shared/protocol/channels.ts";
import type { SentBody } from "../../shared/protocol/route.ts";
import { buildCli } from "../support/cli.ts";
import { startSidecar, type TestSidecar } from "../support/sidecar.ts";
import { refusal } from "../support/threads.ts";

const id = (n: number) => String(300_000_000_000_000_000n + BigInt(n));
const [FIRST, SHOP, INFRA] = [id(1), id(2), id(3)];
const USUAL = {
  ...{ dir: ".", mode: "off", engine: null, model: null, permissionMode: null, limits: {} },
  ...{ directive: null, worktree: false, agent: null, name: null, problem: null },
};
const fixed = { id: FIRST, dir: ".", mode: "mention" as const };

const listOf = async (of: SidecarClient) => (await of.call(channels.list, {})).channels;
const set = async (by: SidecarClient, channelId: string, body: SentBody<typeof channels.set>) =>
  (await by.call(channels.set, { channelId }, { body })).channel;

let sidecar: TestSidecar;
let client: SidecarClient;
beforeAll(async () => {
  sidecar = await startSidecar();
  ({ client } = sidecar);
  for (const dir of ["shop", "infra"]) mkdirSync(join(sidecar.reposDir, dir));
  symlinkSync("/etc", join(sidecar.reposDir, "out"));
});
afterAll(() => sidecar?.close());
beforeEach(async () => {
  for (const { id: channelId, isFixed } of await listOf(client))
    if (!isFixed) await client.call(channels.remove, { channelId });
  await client.putFixedChannels([fixed]);
});

test("one is served with what is named of it; the rest stays, and a choice is taken back", async () => {
  const all = {
    ...{ dir: "shop", mode: "threads" as const, engine: "claude" as const, model: "opus" },
    ...{ permissionMode: "plan", limits: { turns: 20, spendUsd: 2 }, worktree: true },
  };
  const row = { ...USUAL, ...all, id: SHOP, isFixed: false };
  expect(await set(client, SHOP, all)).toEqual(row);
  expect(await set(client, SHOP, {})).toEqual(row);
  expect(await set(client, SHOP, { model: null, limits: { turns: null }, worktree: false })).toEqual({
    ...row,
    ...{ model: null, limits: { spendUsd: 2 }, worktree: false },
  });
  await set(client, INFRA, { dir: join(sidecar.reposDir, "infra") });
  const listed = await listOf(client);
  expect(listed.map(({ id, dir }) => [id, dir])).toEqual([
    [FIRST, "."],
    [SHOP, "shop"],
    [INFRA, "infra"],
  ]);
  await sidecar.restart();
  ({ client } = sidecar);
  expect(await listOf(client)).toEqual(listed);
});

test("a directory that does not have the channel's directive is refused, until the directive is taken back", async () => {
  const folder = join(sidecar.reposDir, "shop", ".claude", "agents");
  mkdirSync(folder, { recursive: true });
  const body = "---\nname: till\ndescription: Counts\n---\nCount.\n";
  writeFileSync(join(folder, "till.md"), body);
  // The note is as a person's yes to the trust question leaves it.
  const shown = { path: join(folder, "till.md"), sha256: sha256Of(Buffer.from(body)) };
  const note = trustedNote(join(sidecar.stateDir, "trust"), shown);
  mkdirSync(dirname(note), { recursive: true });
  writeFileSync(note, "{}");
  await set(client, SHOP, { dir: "shop", directive: "till" });
  for (const request of [{ dir: "infra" }, { directive: "none" }, { dir: "infra", directive: "till" }]) {
    const { message } = await refusal(set(client, SHOP, request));
    expect(message).toMatch(/^directive: the directory (shop|infra) has none called (till|none)/);
  }
  expect(await set(client, SHOP, { mode: "threads", dir: "shop" })).toMatchObject({ directive: "till" });
  expect(await refusal(set(client, SHOP, { mode: "main" }))).toMatchObject({
    code: "unsupported",
    message: expect.stringMatching(/^directive: the one agent .* take till back/),
  });
  expect(await set(client, SHOP, { dir: "infra", directive: null })).toMatchObject({ dir: "infra" });
});

test("two who change other fields at once both count", async () => {
  await set(client, SHOP, {});
  await Promise.all([
    set(client, SHOP, { dir: "shop" }),
    set(client, SHOP, { model: "opus" }),
    set(client, SHOP, { dir: "infra", mode: "threads" }),
  ]);
  const [, row] = await listOf(client);
  expect(row).toMatchObject({ model: "opus", mode: "threads" });
});

test("what the relay's settings name nobody else changes; what people set of it is there again after that", async () => {
  await set(client, SHOP, { dir: "shop" });
  await client.putFixedChannels([fixed, { id: SHOP, dir: "infra", mode: "off" }]);
  const rows = async () => (await listOf(client)).map(({ id, dir, isFixed }) => [id, dir, isFixed]);
  expect(await rows()).toEqual([
    [FIRST, ".", true],
    [SHOP, "infra", true],
  ]);
  for (const change of [
    () => set(client, FIRST, { mode: "off" }),
    () => client.call(channels.remove, { channelId: FIRST }),
    () => set(client, SHOP, { dir: "." }),
  ])
    expect(await refusal(change())).toMatchObject({
      code: "channel_fixed",
      message: expect.stringContaining("DISCORD_CHANNEL_ID"),
    });
  await client.putFixedChannels([fixed]);
  expect(await rows()).toEqual([
    [FIRST, ".", true],
    [SHOP, "shop", false],
  ]);
});

test("what is wrong is named, and changes nothing", async () => {
  await set(client, SHOP, { dir: "shop", engine: "claude" });
  const before = await listOf(client);
  const bad: [channelId: string, request: object, code: string, words: RegExp][] = [
    ["42", {}, "invalid_request", /17 to 20 digits/],
    [SHOP, { dir: "../elsewhere" }, "invalid_directory", /dir: .*outside of the repositories' folder/],
    [SHOP, { dir: "/etc" }, "invalid_directory", /dir: .*outside/],
    [SHOP, { dir: "out" }, "invalid_directory", /dir: .*outside/],
    [SHOP, { dir: "missing" }, "invalid_directory", /dir: .*does not exist/],
    [SHOP, { dir: "" }, "invalid_request", /dir: must not be empty/],
    [SHOP, { mode: "on" }, "invalid_request", /mode: must be off, mention, threads, main/],
    [SHOP, { engine: "gpt" }, "invalid_request", /engine: must be claude/],
    [SHOP, { permissionMode: "everything" }, "unsupported", /^permissionMode: must be one of /],
    [SHOP, { permissionMode: "bypassPermissions" }, "unsupported", /^permissionMode: .*ALLOW_BYPASS=1/],
    [SHOP, { engine: "command" }, "unsupported", /the engine command/],
    [SHOP, { engine: "demo", limits: { usd: 2 } }, "invalid_request", /limits\.usd: not a known field/],
    [SHOP, { limits: { turns: 0 } }, "invalid_request", /limits\.turns: must be more than 0/],
    [SHOP, { worktree: "yes" }, "invalid_request", /worktree: must be true or false/],
    [
      SHOP,
      { mode: "main", worktree: true },
      "unsupported",
      /^worktree: the one agent .* set worktree to false/,
    ],
    [SHOP, { agents: "main" }, "invalid_request", /agents: not a known field/],
    [SHOP, { agent: "Ops Team" }, "invalid_request", /^agent: /],
    [SHOP, { isFixed: true }, "invalid_request", /isFixed: not a known field/],
  ];
  for (const [channelId, request, code, words] of bad)
    expect(await refusal(set(client, channelId, request as never))).toEqual({
      code,
      message: expect.stringMatching(words),
    });
  expect(await refusal(client.call(channels.remove, { channelId: INFRA }))).toMatchObject({
    code: "not_found",
  });
  expect(await refusal(client.putFixedChannels([fixed, fixed]))).toMatchObject({
    message: expect.stringContaining("must name each id once"),
  });
  expect(await listOf(client)).toEqual(before);
});

test("a person without a role changes none; the relay alone says what is fixed, and what is lost", async () => {
  const [ada, grace] = [id(8), id(9)];
  await client.putPeople([{ id: ada, role: "maker" }]);
  await set(client, SHOP, {});
  const before = await listOf(client);
  for (const act of [
    set(sidecar.as(grace), SHOP, { mode: "threads" }),
    sidecar.as(grace).call(channels.remove, { channelId: SHOP }),
    sidecar.as(ada).putFixedChannels([]),
    sidecar.as(ada).call(channels.putPlace, { channelId: SHOP }, { body: { problem: "gone" } }),
  ])
    expect(await refusal(act)).toMatchObject({ code: "forbidden" });
  expect(await listOf(client)).toEqual(before);
  await client.call(channels.putPlace, { channelId: SHOP }, { body: { name: "shop", problem: "gone" } });
  expect(await set(sidecar.as(ada), SHOP, { dir: "shop" })).toMatchObject({
    ...{ dir: "shop", name: "shop", problem: "gone" },
  });
});

test("as many as one bot serves, and no more", async () => {
  for (let n = 10; n < 59; n++) await set(client, id(n), {});
  expect(await refusal(set(client, id(59), {}))).toMatchObject({
    code: "invalid_request",
    message: expect.stringContaining("50 are served"),
  });
  await set(client, id(58), { mode: "threads" });
});

test("from a shell", async () => {
  const { call } = await buildCli(sidecar);
  const cli = (...args: string[]) => call(["channel", ...args]);
  const set = await cli(
    "set",
    SHOP,
    "--dir",
    "shop",
    "--mode",
    "threads",
    "--max-turns",
    "9",
    "--worktree",
    "--json",
  );
  const { channel } = JSON.parse(set.stdout) as { channel: ChannelRow };
  expect(channel).toMatchObject({
    id: SHOP,
    dir: "shop",
    mode: "threads",
    limits: { turns: 9 },
    worktree: true,
  });
  await client.call(channels.putPlace, { channelId: SHOP }, { body: { name: "shop" } });
  await cli("set", "#shop", "--max-turns", "none", "--no-worktree");
  const listed = await cli("list");
  expect(listed.stdout).toBe(
    `${FIRST}\t\tmention\t.\t\tset by the relay's own settings\n${SHOP}\t#shop\tthreads\tshop\t\t\n`,
  );
  const rowOfShop = async () => (await listOf(client)).find((row) => row.id === SHOP);
  for (const [args, words] of [
    [["set", SHOP, "--agent", "Ops Team"], /--agent: must be 1 to 32/],
    [["set", SHOP, "--engine", "gpt"], /--engine: must be claude/],
    [["set", "toys"], /there is none called "toys"/],
    [["set", FIRST, "--mode", "off"], /DISCORD_CHANNEL_ID/],
    [["remove", INFRA], /is none that is served/],
  ] as [string[], RegExp][]) {
    const { code, stderr } = await cli(...args);
    expect([code !== 0, stderr]).toEqual([true, expect.stringMatching(words)]);
  }
  await cli("set", "#shop", "--mode", "main", "--agent", "till");
  expect(await rowOfShop()).toMatchObject({ mode: "main", agent: "till" });
  expect((await cli("list")).stdout).toContain("\tmain\tshop\ttill\t");
  await cli("set", "#shop", "--mode", "off", "--agent", "default");
  expect(await rowOfShop()).toMatchObject({ mode: "off", agent: null });
  await cli("remove", "shop");
  expect((await listOf(client)).map((row) => row.id)).toEqual([FIRST]);
});
