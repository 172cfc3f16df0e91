import type { ChatInputCommandInteraction } from "discord.js";
import { expect, test } from "vitest";
import type { Threads } from "../../threads/threads.ts";
import { threadHere } from "./command.ts";

// Promise: S1
test("what a command does in a thread is asked in the name of who used it, so that the sidecar judges it", () => {
  const vm = { as: (userId: string) => `as ${userId}` };
  const threads = { find: () => ({ vm }) } as unknown as Threads;
  const used = {
    channelId: "100000000000000001",
    user: { id: "7" },
  } as unknown as ChatInputCommandInteraction;
  expect(threadHere(used, threads)).toBe("as 7");
});
