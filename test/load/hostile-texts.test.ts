/** What agents, commands and people write must not hold up a process: no step over a text costs more than linear time. */
import { expect, test } from "vitest";
import { TranscriptContent } from "../../relay/content/transcript/content.ts";
import { splitMarkdown } from "../../relay/content/transcript/split.ts";
import type { TranscriptReply } from "../../shared/agent/api.ts";
import { findFastGrowth, type GrowingText } from "../support/growth.ts";
import { cpuMsOf } from "../support/measure.ts";

/** Each construct of Markdown, and what its rules look for the end of. */
const PARTS = [
  ..." \t\n-a0`*_~|#>[]()<@\\:.+\u00e9\u{1f600}",
  ...["\r\n", "\r", "- ", "1. ", "> ", ">>> ", "# ", "  - x\n", "- \n", "a ", "a\n", "\n\n", "x\u200b"],
  ...["```", "```\n", "```a\n```\n", "~~~", "~~~\n", "````\n```\n", "- ```\n", "`a`", "``a``", "` ", "``` "],
  ...[
    "||",
    "|\n",
    "| |\n",
    "|a|\n",
    "|-|\n",
    "|-|-|\n",
    "|a|\n|-|\n",
    "\\|",
    "| a ",
    "|a|b|\n|-|-|\n|c|d|\n",
  ],
  ...["**a** ", "**a", "*a", "_a_ ", "_a", "__", "***", "~~a~~ ", "~~a", "||a|| ", "||a", "\\*", "\\\\"],
  ...[
    "[a](http://x) ",
    "[a](",
    "[a",
    "](",
    "[](",
    "http://x ",
    "http://",
    "<http://x",
    "<@1>",
    "<t:1:R>",
    "<#",
  ],
  ...[
    "@everyone",
    "@here ",
    "\u0301",
    "\u200d",
    "\u200c",
    "\u202e",
    "\ufe0f",
    "a\u200d\u200c",
    "日本",
    "\ud800",
  ],
];
const nameOf = (...parts: string[]) => parts.map((part) => JSON.stringify(part)).join(" + n × ");
const TEXTS: readonly GrowingText[] = [
  ...PARTS.map((part) => ({ name: nameOf("", part), make: (count: number) => part.repeat(count) })),
  ...PARTS.map((part) => ({ name: nameOf("-", part, "x"), make: (n: number) => `-${part.repeat(n)}x` })),
  ...["\n", "a", "`", "~~~\n", "``` "].map((part) => ({
    name: nameOf("```\n", part),
    make: (count: number) => `\`\`\`\n${part.repeat(count)}`,
  })),
  // A table with as many columns as rows, or with a header as long as all of its rows.
  ...["|\n", "||\n", "|b|\n", "||b|\n"].flatMap((row) =>
    ["|", "a|", "a"].map((cell) => ({
      name: nameOf("a table of ", cell, row),
      make: (count: number) => {
        const header = `|${cell.repeat(count / 2)}|\n|${"-|".repeat(cell.endsWith("|") ? count / 2 : 1)}\n`;
        return header + row.repeat(count / 2);
      },
    })),
  ),
];

const STEPS: Record<string, (text: string) => unknown> = {
  "an agent's text → messages": splitMarkdown,
};

for (const [name, step] of Object.entries(STEPS)) {
  test(`${name}: four times the text takes four times as long, whatever it repeats`, () => {
    expect(TEXTS.map((text) => findFastGrowth(text, step)).filter((found) => found !== undefined)).toEqual(
      [],
    );
  });
}

test("a text is split once, however often its thread is looked at", async () => {
  const text = "| a | b |\n|---|---|\n".concat("- x `y` **z**\n".repeat(4_000));
  const event = {
    seq: 1,
    id: "r1.0",
    ts: new Date(0).toISOString(),
    type: "agent_message",
    messageId: "m",
    at: "u",
  };
  const turn = { ...event, type: "turn_end", turnId: "t", stopReason: "end_turn", seq: 2, id: "r2.0" };
  const lines = `${JSON.stringify({ ...event, text })}\n${JSON.stringify(turn)}\n`;
  const content = new TranscriptContent({ starter: undefined });
  const reply = { lines, start: 0, offset: Buffer.byteLength(lines), more: false, end: 0, status: "running" };
  const acceptMs = await cpuMsOf(() =>
    content.accept({ ...reply, problem: null, live: null } as TranscriptReply),
  );
  const looksMs = await cpuMsOf(() => {
    for (let i = 0; i < 50; i++) content.pages();
  });
  expect(content.pages().length).toBeGreaterThan(20);
  expect(looksMs).toBeLessThan(10 * acceptMs + 20); // 50 times and more if each look splits it again
});

test("while a reply of many long texts is taken, the event loop turns again and again", async () => {
  const event = { id: "r", ts: new Date(0).toISOString(), type: "agent_message", messageId: "m", at: "u" };
  const texts = Array.from({ length: 40 }, (_, i) =>
    JSON.stringify({ ...event, seq: i + 1, id: `r${i + 1}.0`, text: "a\n".repeat(25_000) }),
  );
  const lines = `${texts.join("\n")}\n`;
  const content = new TranscriptContent({ starter: undefined });
  const offsets = new Set<number>();
  const reply = { lines, start: 0, offset: Buffer.byteLength(lines), more: false, end: 0, status: "running" };
  let isDone = false;
  const taken = content.accept({ ...reply, problem: null, live: null } as TranscriptReply).then(() => {
    isDone = true;
  });
  while (!isDone) {
    offsets.add(content.offset);
    await new Promise((resolve) => setImmediate(resolve));
  }
  await taken;
  expect(content.offset).toBe(Buffer.byteLength(lines));
  // A quick machine takes several texts before the others' turn has come.
  expect(offsets.size).toBeGreaterThanOrEqual(5);
});
