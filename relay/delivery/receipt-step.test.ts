import { DiscordAPIError } from "discord.js";
import { expect, test } from "vitest";
import { createLog } from "../../shared/log.ts";
import { aDiscordId } from "../../test/support/ids.ts";
import type { DiscordApi } from "../discord/api.ts";
import { createBudget } from "../discord/budget.ts";
import { nextReceipt } from "./receipt-step.ts";

/** A person's message whose delivery the model has taken. */
function taken(ids: string[]) {
  return {
    receipt: () => ids[0],
    receipted: (id: string) => void ids.splice(ids.indexOf(id), 1),
  };
}

test("no receipt is given while steps wait for the request budget, and none is made up for", async () => {
  let now = 1_000;
  const budget = createBudget({ now: () => now });
  const reactions: string[] = [];
  const api = {
    react: (...parts: string[]) => Promise.resolve(void reactions.push(parts.join(" "))),
  } as unknown as DiscordApi;
  const ids = ["1", "2"];
  const options = {
    threadId: aDiscordId("7"),
    content: taken(ids),
    api,
    budget,
    log: createLog("relay", "silent"),
  };
  budget.slowDown(5_000);
  expect(nextReceipt(options)).toBeUndefined();
  expect(ids).toEqual(["2"]);
  now += 5_001;
  await nextReceipt(options)?.run();
  expect(reactions).toEqual(["7 2 👀"]);
  expect(nextReceipt(options)).toBeUndefined();
});

test("a receipt that Discord refuses is not tried again", async () => {
  const api = { react: () => Promise.reject(new Error("no")) } as unknown as DiscordApi;
  const ids = ["1"];
  const log = createLog("relay", "silent");
  await nextReceipt({
    threadId: aDiscordId("7"),
    content: taken(ids),
    api,
    budget: createBudget(),
    log,
  })?.run();
  expect(ids).toEqual([]);
});

test("a message that was written in the thread's channel gets its receipt there", async () => {
  const reactions: string[] = [];
  const gone = new DiscordAPIError({ code: 10_008, message: "Unknown Message" }, 10_008, 404, "PUT", "/", {});
  const api = {
    react: (channelId: string, messageId: string) =>
      channelId === "7"
        ? Promise.reject(gone)
        : Promise.resolve(void reactions.push(`${channelId} ${messageId}`)),
  } as unknown as DiscordApi;
  const log = createLog("relay", "silent");
  const options = {
    ...{ threadId: aDiscordId("7"), parentId: aDiscordId("3") },
    ...{ content: taken(["1"]), api, budget: createBudget(), log },
  };
  await nextReceipt(options)?.run();
  expect(reactions).toEqual(["3 1"]);
});
