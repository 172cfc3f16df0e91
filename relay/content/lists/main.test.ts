import { expect, test } from "vitest";
import type { MainStatus } from "../../../shared/voice-api.ts";
import { aDiscordId } from "../../../test/support/ids.ts";
import { mainText } from "./main.ts";

const [OPS, DEV] = [aDiscordId("300000000000000001"), aDiscordId("300000000000000002")];
const main = (more: Partial<MainStatus> = {}): MainStatus => ({
  ...{ name: "main", threadId: null, number: 12, status: "idle", doing: null, problem: null, dir: "shop" },
  ...{
    openAsks: 0,
    costTodayUsd: 0.126,
    childrenTodayUsd: 0,
    waiting: 0,
    unansweredCount: 0,
    unanswered: [],
  },
  channels: [{ id: OPS, name: "ops" }],
  ...more,
});

test("who hears several channels says who can learn what", () => {
  expect(mainText(main(), undefined)).toBe(
    `🎧 \`main\` (#12) hears <#${OPS}>.\n💤 It rests; the next message wakes it\n📁 \`shop\` · $0.13 today · nothing unanswered`,
  );
  const both = [OPS, DEV].map((id) => ({ id, name: null }));
  expect(mainText(main({ channels: both }), undefined)).toContain(
    `hears <#${OPS}> <#${DEV}>: whoever writes in one of them can learn what was said in the others.`,
  );
});

test.each<[Partial<MainStatus>, string]>([
  [{ status: null }, "the first message makes it"],
  [{ status: "running", doing: "npm `test`" }, "It is at work: "],
  [{ status: "waiting", openAsks: 2 }, "It waits for an answer · 2 of its questions open"],
  [{ status: "paused" }, "`/main resume`"],
  [{ status: "queued" }, "a free place"],
  [{ status: "killed" }, "was ended"],
  [{ status: "failed", problem: "gone" }, "It can't go on: `gone`"],
])("its state is said: %o", (more, words) => {
  expect(mainText(main(more), undefined)).toContain(words);
});

test("a message without an answer is a link; as many stand there as one message takes, the rest is counted", () => {
  const one = (n: number) => ({
    ...{ inputId: `4000000000000000${10 + n}`, channelId: OPS, handle: "discord:#ops/alice" },
    ...{ at: "2027-01-05T09:12:00.000Z", isRead: n > 0 },
  });
  const unanswered = Array.from({ length: 50 }, (_, n) => one(n));
  const text = mainText(main({ unanswered, unansweredCount: 77 }), "9");
  expect(text).toContain("77 unanswered");
  expect(text).toContain(
    `- \`discord:#ops/alice\` <t:1799140320:R> https://discord.com/channels/9/${OPS}/400000000000000010, not read yet`,
  );
  expect(text.length).toBeLessThan(2_000);
  expect(text).toMatch(/-# … and \d+ more$/);
});
