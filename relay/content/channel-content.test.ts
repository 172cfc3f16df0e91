import { expect, test } from "vitest";
import { aDiscordId } from "../../test/support/ids.ts";
import type { Thread } from "../sidecar/names.ts";
import { ChannelContent, type ChannelThread } from "./channel-content.ts";

const thread = (threadId: string, ends: ChannelThread["ends"] = []): ChannelThread => ({
  threadId: aDiscordId(threadId),
  thread: { threadId, number: 1, status: "idle", waiting: 0, problem: null, doing: null } as Thread,
  isOver: false,
  ends,
});

test("of threads that the channel tells of no more nothing is kept or said", async () => {
  const kept = new Set(["1", "2"]);
  const content = new ChannelContent({ rows: [], isAllowed: () => true, isKept: (id) => kept.has(id) });
  await content.accept({ items: [], threads: [thread("1"), thread("2")] }, 0);
  expect(content.pages(0).map(({ key }) => key)).toEqual(["status.1", "status.2"]);
  kept.delete("1");
  expect(content.pages(0).map(({ key }) => key)).toEqual(["status.2"]);
  expect(content.isNeeded("status.1")).toBe(false);
});

test("each words that are said change the mark, so that the ledger forgets those before them", async () => {
  const content = new ChannelContent({ rows: [], isAllowed: () => true, isKept: () => true });
  const marks = new Set<string>();
  for (const seq of [5, 9]) {
    await content.accept({ items: [], threads: [thread("1", [{ seq, words: "Done." }])] }, 0);
    content.confirm([`words.1.${seq}`]);
    marks.add(JSON.stringify(content.mark()));
  }
  expect(marks.size).toBe(2);
  expect([content.isNeeded("words.1.5"), content.isNeeded("words.1.9")]).toEqual([false, true]);
});
