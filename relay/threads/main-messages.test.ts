import { expect, test } from "vitest";
import { AppError } from "../../shared/errors.ts";
import { aDiscordId } from "../../test/support/ids.ts";
import { MainMessages, type MainMessagesOptions } from "./main-messages.ts";

test("while the channel's agent is over, an answer to another agent's thread is not refused", async () => {
  const over = new AppError("thread_ended", "The agent main, which hears this channel, was ended.");
  const voice = { findMain: () => Promise.reject(over) };
  const messages = new MainMessages({
    vm: { as: () => ({ voice }) },
    threads: { find: (id: string) => (id === "5" ? { threadId: "5" } : undefined) },
    channelId: aDiscordId("7"),
  } as unknown as MainMessagesOptions);
  expect(await messages.find("1", aDiscordId("5"))).toBeUndefined();
  // A message that answers nothing, or that answers a thread that is over, has no other reader.
  await expect(messages.find("1", undefined)).rejects.toBe(over);
  await expect(messages.find("1", aDiscordId("6"))).rejects.toBe(over);
});
