/** The bot archives idle Discord threads before a server has as many active ones as Discord allows. */
import { DiscordAPIError } from "discord.js";
import { expect, test } from "vitest";
import { createLog } from "../../shared/log.ts";
import { aDiscordId } from "../../test/support/ids.ts";
import { until } from "../../test/support/wait.ts";
import { type ChannelInfo, snowflakeNow } from "../discord/api.ts";
import { ActiveThreads } from "./active-threads.ts";
import type { Threads } from "./threads.ts";

const NOW = Date.parse("2026-01-01T12:00:00Z");
const MINUTE = 60_000;
const BOT = "100000000000000001";

/** Makes a Discord thread whose last message is `minutes` old; `i` tells its ids from others of the same age. */
function made(i: number, minutes: number, more: Partial<ChannelInfo> = {}): ChannelInfo {
  const lastMessageId = aDiscordId(String(BigInt(snowflakeNow(NOW - minutes * MINUTE)) + BigInt(i)));
  const base = { name: `t${i}`, guildId: "1", parentId: aDiscordId("200000000000000001"), ownerId: BOT };
  const state = { isArchived: false, isLocked: false, isArchivedByPerson: false };
  return {
    id: aDiscordId(String(300000000000000000n + BigInt(i))),
    ...base,
    ...state,
    lastMessageId,
    ...more,
  };
}

function start({ attended = [] as string[], running = [] as string[], refuse = [] as string[] } = {}) {
  const archived: string[] = [];
  const active = new ActiveThreads({
    api: {
      archiveIdle: async (id) => {
        if (refuse.includes(id))
          throw new DiscordAPIError(
            { code: 50013, message: "Missing Permissions" },
            50013,
            403,
            "PATCH",
            "",
            {},
          );
        archived.push(id);
      },
    },
    budget: { run: (task) => task() },
    attended: { has: (id) => attended.includes(id) },
    threads: {
      find: (id: string) => ({ status: running.includes(id) ? "running" : "idle" }),
      isBusy: () => false,
    } as unknown as Pick<Threads, "find" | "isBusy">,
    botId: BOT,
    now: () => NOW,
    log: createLog("relay", "silent"),
  });
  return { active, archived };
}

// Promise: R28
test("up to 900 active ones stay; beyond, those go in which nothing runs, the quietest first", async () => {
  const busy = Array.from({ length: 896 }, (_, i) => made(i, 5));
  const [recent, old, oldest, runs] = [made(901, 70), made(902, 90), made(903, 500), made(904, 9_000)];
  const { active, archived } = start({ running: [runs.id] });
  active.reset([...busy, recent, old, oldest, runs]);
  expect([active.count, archived]).toEqual([900, []]);
  active.hear("THREAD_CREATE", wireOf(made(905, 0)));
  active.hear("THREAD_CREATE", wireOf(made(906, 0)));
  await until("room", () => active.count === 900);
  expect(archived).toEqual([oldest.id, old.id]);
  active.hear("THREAD_CREATE", wireOf(made(907, 0)));
  active.hear("THREAD_CREATE", wireOf(made(908, 0)));
  await until("room", () => active.count === 900);
  expect(archived).toEqual([oldest.id, old.id, recent.id, runs.id]);
});

test("nobody's but the bot's, none with a person in it, none that was written in within the hour", async () => {
  const [here, asked, fresh, gone] = [made(1, 500), made(2, 500), made(3, 59), made(4, 61)];
  const others = Array.from({ length: 900 }, (_, i) => made(i + 10, 5));
  const { active, archived } = start({ attended: [here.id], refuse: [asked.id] });
  active.reset([...others, here, asked, fresh, gone]);
  await until("what can go to be gone", () => archived.length === 1);
  expect([archived, active.count]).toEqual([[gone.id], 903]);
  // A thread that Discord refused to archive is not tried again.
  active.hear("MESSAGE_CREATE", { id: snowflakeNow(NOW), channel_id: here.id });
  active.hear("THREAD_CREATE", wireOf(made(5, 200)));
  await until("the next to be gone", () => archived.length === 2);
  expect(active.count).toBe(903);
});

test("what is archived, deleted or gone with its channel counts no more; what comes into sight does", () => {
  const { active } = start();
  const inOther = { parentId: aDiscordId("200000000000000002") };
  active.reset([made(1, 5), made(2, 5), made(3, 5, inOther), made(4, 5, inOther)]);
  active.hear("THREAD_UPDATE", wireOf(made(1, 5, { isArchived: true })));
  active.hear("THREAD_DELETE", { id: made(2, 5).id });
  expect(active.count).toBe(2);
  active.hear("CHANNEL_DELETE", { id: inOther.parentId });
  expect(active.count).toBe(0);
  active.hear("THREAD_LIST_SYNC", { threads: [wireOf(made(5, 5)), wireOf(made(6, 5))] });
  active.hear("TYPING_START", { anything: true });
  expect(active.count).toBe(2);
});

/** Makes the thread as the gateway sends it. */
function wireOf({ id, name, parentId, ownerId, lastMessageId, isArchived }: ChannelInfo) {
  const thread_metadata = { archived: isArchived, locked: false };
  return {
    id,
    name,
    parent_id: parentId,
    owner_id: ownerId,
    last_message_id: lastMessageId,
    thread_metadata,
  };
}
