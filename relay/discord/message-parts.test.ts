import { expect, test } from "vitest";
import { answered } from "./channel-message.ts";
import { filesOf, forwardedTexts, nameOfFile, othersIn } from "./message-parts.ts";
import { messageSchema } from "./message-schema.ts";

const message = (fields: object) =>
  messageSchema.parse({ id: "2", channel_id: "1", content: "", author: { id: "3" }, type: 0, ...fields });
const file = { filename: "a.log", size: 3, url: "https://cdn.discordapp.com/a.log" };

test("what is forwarded is found: words, a bot's embed, files", () => {
  const forward = message({
    message_reference: { type: 1, message_id: "9", channel_id: "1" },
    message_snapshots: [
      { message: { content: "one\ntwo", attachments: [file], embeds: [{ title: "not this" }] } },
      { message: { content: "", embeds: [{ title: "Build 7", description: "failed" }, { type: "image" }] } },
      { message: { content: "" } },
    ],
  });
  expect(forwardedTexts(forward)).toEqual(["one\ntwo", "Build 7\nfailed"]);
  expect(filesOf(forward)).toEqual([file]);
  // It answers nothing, also if it comes from the same channel.
  expect(answered(forward)).toBeUndefined();
  expect(answered(message({ type: 19, message_reference: { message_id: "9" } }))).toBe("9");
});

test("what only Discord can show is named in one line", () => {
  const all = message({
    poll: { question: { text: `Lunch\n${"x".repeat(300)}` }, answers: [] },
    sticker_items: [{ id: "1", name: "Wave", format_type: 1 }],
    message_snapshots: [{ message: { content: "", sticker_items: [{ name: "Sad" }] } }],
  });
  expect(othersIn(all)).toEqual([
    `the poll “Lunch ${"x".repeat(73)}…”`,
    "the sticker “Wave”",
    "the sticker “Sad”",
  ]);
  expect(nameOfFile({ ...file, duration_secs: 2.5 })).toBe("the voice note");
  expect(nameOfFile(file)).toBe("a.log");
});

test("a shape that is new takes nothing from the message", () => {
  for (const odd of [
    { poll: null },
    { poll: 3 },
    { sticker_items: "x" },
    { message_snapshots: [{ message: 1 }] },
  ]) {
    const parsed = message({ content: "words", ...odd });
    expect([parsed.content, othersIn(parsed), forwardedTexts(parsed)]).toEqual(["words", [], []]);
  }
});
