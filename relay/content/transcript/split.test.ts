import fc from "fast-check";
import { expect, test } from "vitest";
import { splitMarkdown } from "./split.ts";

const word = fc.stringMatching(/^[A-Za-z0-9äß🙂`*_|#@<>.-]{1,14}$/u);
const sentence = fc.array(word, { minLength: 1, maxLength: 30 }).map((words) => words.join(" "));
const line = fc.oneof(
  { weight: 6, arbitrary: sentence },
  { weight: 2, arbitrary: fc.constant("") },
  { weight: 2, arbitrary: sentence.map((text) => `- ${text}`) },
  { weight: 1, arbitrary: sentence.map((text) => `    - ${text}`) },
  { weight: 1, arbitrary: sentence.map((text) => `## ${text}`) },
  { weight: 2, arbitrary: fc.constantFrom("```", "```ts", "~~~", "````", "  ```py") },
  {
    weight: 1,
    arbitrary: fc.array(word, { minLength: 1, maxLength: 6 }).map((cells) => `| ${cells.join(" | ")} |`),
  },
  { weight: 1, arbitrary: fc.constant("|---|---|") },
  { weight: 1, arbitrary: fc.nat(900).map((n) => "x".repeat(n)) },
);
const document = fc.array(line, { maxLength: 40 }).map((lines) => lines.join("\n"));
const MAX = 300;

test("pages are whole, short, and valid by themselves", () => {
  fc.assert(
    fc.property(document, (text) => {
      for (const page of splitMarkdown(text, MAX).pages) {
        expect(page.length).toBeLessThanOrEqual(MAX);
        expect(page.trim()).toBe(page);
        expect(page).not.toBe("");
        expect((page.match(/^```/gm) ?? []).length % 2).toBe(0);
        expect(Buffer.from(page).toString()).toBe(page); // no half of a surrogate pair
      }
    }),
    { numRuns: 2_000 },
  );
});

test("what is appended never changes a sealed page", () => {
  fc.assert(
    fc.property(document, fc.nat(1_000), (text, permille) => {
      const whole = splitMarkdown(text, MAX);
      const cut = splitMarkdown(text.slice(0, Math.floor((text.length * permille) / 1_000)), MAX);
      expect(whole.pages.slice(0, cut.sealed)).toEqual(cut.pages.slice(0, cut.sealed));
    }),
    { numRuns: 2_000 },
  );
});

test("all text is there once", () => {
  const plain = fc.array(
    fc.oneof(
      sentence,
      fc.constant(""),
      fc.nat(900).map((n) => "x".repeat(n)),
    ),
    { maxLength: 40 },
  );
  const bare = (text: string) => text.replace(/[\s\u200b]/g, "");
  fc.assert(
    fc.property(plain, (lines) => {
      const text = lines.join("\n").replaceAll("```", "'''").replaceAll("~~~", "---");
      fc.pre(!text.split("\n").some((line) => /^\s*\|/.test(line)));
      expect(bare(splitMarkdown(text, MAX).pages.join("\n"))).toBe(bare(text));
    }),
    { numRuns: 2_000 },
  );
});

test("a code block goes on as one on the next page", () => {
  const code = Array.from({ length: 60 }, (_, i) => `const line${i} = ${i};`);
  const { pages } = splitMarkdown(["Look:", "```ts", ...code, "```", "Done."].join("\n"), MAX);
  expect(pages.length).toBeGreaterThan(2);
  expect(pages.every((page) => page.includes("```ts\n"))).toBe(true);
  const shown = pages.flatMap((page) => page.split("\n").filter((row) => row.startsWith("const")));
  expect(shown).toEqual(code);
  expect(pages.at(-1)?.endsWith("```\nDone.")).toBe(true);
});

test("a narrow table keeps its columns, a wide one becomes a list", () => {
  const narrow = splitMarkdown("| a | long |\n|---|:-:|\n| 1 | 2 |\n| three | `x` |\nafter");
  expect(narrow.pages).toEqual(["```\na      long\n─────  ────\n1      2\nthree  `x`\u200b\n```\nafter"]);
  const wide = splitMarkdown(`| name | what |\n|---|---|\n| one | ${"very ".repeat(10)}|`);
  expect(wide.pages).toEqual([
    "- **name:** one · **what:** very very very very very very very very very very",
  ]);
});

test("mentions and hidden characters are text", () => {
  const { pages } = splitMarkdown("<@123> @everyone <#9> a\u202eb\u001b[31m\n```\n<@123>```x\n```");
  expect(pages).toEqual(["<\u200b@123> @\u200beveryone <\u200b#9> ab[31m\n```\n<@123>`\u200b`\u200b`x\n```"]);
});
