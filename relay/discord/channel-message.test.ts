import { expect, test } from "vitest";
import { findFastGrowth } from "../../test/support/growth.ts";
import { wordsFor } from "./channel-message.ts";
import type { DiscordMessage } from "./message-schema.ts";

const botId = "123";
const words = (content: string) => wordsFor({ content } as DiscordMessage, { mode: "mention", botId });

test("the bot's name goes from both ends, however often it is there, and stays in between", () => {
  expect(words("<@123> , do it")).toBe("do it");
  expect(words(" <@123><@!123>: do <@123> it <@!123>  <@123> ")).toBe("do <@123> it");
  expect(words("<@123> <@123>")).toBe("");
  expect(words("<@1234> hello")).toBe("<@1234> hello");
});

test("blanks and names without end take linear time", () => {
  for (const part of [" ", "\n", "<@123> ", "<@123>x", " <@123"]) {
    const text = { name: part, make: (count: number) => `x${part.repeat(count)}y` };
    expect(findFastGrowth(text, words)).toBe(undefined);
  }
});
