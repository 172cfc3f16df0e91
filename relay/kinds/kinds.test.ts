import { REST } from "discord.js";
import { expect, onTestFinished, test } from "vitest";
import { outputsReplySchema, threadSchema } from "../../shared/api.ts";
import { SidecarClient } from "../../shared/client.ts";
import { createLog } from "../../shared/log.ts";
import { aDiscordId, asNamed } from "../../test/support/ids.ts";
import { DiscordApi } from "../discord/api.ts";
import { createBudget } from "../discord/budget.ts";
import { Requests } from "../discord/requests.ts";
import { isInDiscord, type ThreadInDiscord } from "../sidecar/names.ts";
import { Vm } from "../sidecar/vm.ts";
import { RELAY_KINDS } from "./kinds.ts";

const threadId = aDiscordId("100000000000000009");

function inDiscord(thread: object): ThreadInDiscord {
  const home = { channelId: threadId, after: null, parentId: null };
  const made = asNamed(threadSchema.parse({ ...thread, home }));
  if (!isInDiscord(made)) throw new Error("it is not in Discord");
  return made;
}

function open(type: "terminal" | "agent") {
  const stop = new AbortController();
  const live = RELAY_KINDS[type].open({
    thread: inDiscord({
      threadId,
      number: 1,
      type,
      title: "it",
      dir: "/srv",
      command: "cat",
      status: "running",
      createdBy: "discord:100000000000000001",
      createdAt: new Date(0).toISOString(),
      endedAt: null,
      exitCode: null,
      processRunning: true,
      signal: null,
      offset: 0,
      logBytes: 0,
      waiting: 0,
      awaiting: null,
      doing: null,
      activeAt: null,
      problem: null,
      cols: 80,
      rows: 24,
      heldSmallUntil: null,
      origin: null,
      delivery: null,
    }),
    rows: [],
    // Nobody answers there: what is tested is what is taken, not what is sent.
    vm: new Vm(new SidecarClient({ url: "http://127.0.0.1:9", token: "t".repeat(32) })),
    api: new DiscordApi(new REST(), new Requests(stop.signal, async () => undefined)),
    budget: createBudget(),
    botId: "100000000000000002",
    ownerOf: (createdBy) => createdBy,
    isAnsi: false,
    log: createLog("relay", "silent"),
    now: Date.now,
    onRefused: () => undefined,
  });
  onTestFinished(() => {
    stop.abort();
    return live.delivery.close();
  });
  return live;
}

const line = `${JSON.stringify({ v: 1, seq: 1, ts: new Date(0).toISOString(), type: "notice", text: "hello" })}\n`;
const replies = outputsReplySchema.parse({
  threads: {
    [threadId]: {
      output: "hello\n",
      start: 0,
      offset: 6,
      firstOffset: 0,
      gone: 0,
      processRunning: true,
      exitCode: null,
      signal: null,
      more: false,
      status: "running",
      cols: 80,
      rows: 24,
    },
  },
  transcripts: {
    [threadId]: {
      lines: line,
      start: 0,
      offset: line.length,
      end: line.length,
      more: false,
      status: "running",
      problem: null,
      live: null,
    },
  },
});

// The poller and a command that ends the thread read side by side.
test.each(["terminal", "agent"] as const)(
  "what two have read of one place of a %s is taken once",
  async (type) => {
    const thread = open(type);
    const taken = await Promise.all([thread.accept(replies, 0), thread.accept(replies, 0)]);
    expect(taken).toEqual([true, false]);
    const { offset } = thread.delivery;
    expect(offset).toBeGreaterThan(0);
    expect(await thread.accept(replies, 0)).toBe(false);
    expect(thread.delivery.offset).toBe(offset);
  },
);

test("what is said in a thread that is not served any more is refused, and nobody waits for it for ever", async () => {
  const { delivery } = open("terminal");
  const before = expect(delivery.say("before", { text: "a", buttons: [] })).rejects.toThrow("has ended");
  await delivery.close();
  await before;
  await expect(delivery.say("after", { text: "b", buttons: [] })).rejects.toThrow("has ended");
});
