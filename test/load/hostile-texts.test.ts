/** What agents, commands and people write must not hold up a process: no step over a text costs more than linear time. */
import { expect, test } from "vitest";
import { splitMarkdown } from "../../relay/content/transcript/split.ts";
import { findFastGrowth, type GrowingText } from "../support/growth.ts";

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
