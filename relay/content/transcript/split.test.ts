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
  // Marks are closed and opened again where a line is cut.
  const bare = (text: string) => text.replace(/[\s\u200b*_~|`>]/g, "");
  fc.assert(
    fc.property(plain, (lines) => {
      const text = lines.join("\n").replaceAll("```", "'''").replaceAll("~~~", "---");
      // A table is written otherwise; what is cut of an item or a heading is one again.
      fc.pre(!text.split("\n").some((line) => /^\s*(?:\||[-#*]+ |\d+\. )/.test(line)));
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

/** Words that occur once in a document, so that a reader can tell whether each is shown once and in order. */
const structure = fc.constantFrom(
  "text",
  "text",
  "text",
  "blank",
  "item",
  "item",
  "nested",
  "deep",
  "ordered",
  "heading",
  "quote",
  "fence",
  "fence-ts",
  "tilde",
  "fence4",
  "fence-in-item",
  "table",
  "table-row",
  "table-row",
  "wide-row",
  "delimiter",
  "long-word",
  "rtl",
  "bold",
  "code",
);
const lines = fc.array(fc.record({ kind: structure, n: fc.integer({ min: 1, max: 9 }) }), { maxLength: 18 });

/** A document, and its words in order. Fences and tables open, close and nest however they come. */
function build(kinds: readonly { kind: string; n: number }[]): {
  text: string;
  words: string[];
  headers: Set<string>;
} {
  const words: string[] = [];
  const word = (start = "w") => {
    words.push(`${start}${words.length}q`);
    return words.at(-1) ?? "";
  };
  const some = (n: number, start = "w") => Array.from({ length: n }, () => word(start)).join(" ");
  const headers = new Set<string>();
  const rows = kinds.map(({ kind, n }, i) => {
    const from = words.length;
    const row = rowOf(kind, n);
    if (kind === "table" || kinds[i + 1]?.kind === "delimiter")
      for (const each of words.slice(from)) headers.add(each);
    return row;
  });
  return { text: rows.join("\n"), words, headers };

  function rowOf(kind: string, n: number): string {
    switch (kind) {
      case "blank":
        return "";
      case "item":
        return `- ${some(n)}`;
      case "nested":
        return `  - ${some(n)}`;
      case "deep":
        return `${"  ".repeat(n * 6)}* ${some(1)}`;
      case "ordered":
        return `${n}. ${some(n)}`;
      case "heading":
        return `${"#".repeat(n)} ${some(2)}`;
      case "quote":
        return `> ${some(n)}`;
      case "fence":
        return "```";
      case "fence-ts":
        return "```ts";
      case "tilde":
        return "~~~";
      case "fence4":
        return "````md";
      case "fence-in-item":
        return "- ```sh";
      case "table":
        return `| ${some(1)} | ${some(1)} |\n|---|:-:|`;
      case "table-row":
        return `| ${some(1)} | ${some(1)} |`;
      case "wide-row":
        return `| ${Array.from({ length: n }, () => some(2)).join(" | ")} |`;
      case "delimiter":
        return "|---|---|";
      case "long-word":
        return word("x".repeat(n * 40));
      case "rtl":
        return some(n, "שלום");
      case "bold":
        return `**${some(n)}** and *${some(1)}*`;
      case "code":
        return `use \`${some(n)}\` here`;
      default:
        return some(n);
    }
  }
}

const SMALL = 120;

/** As Discord reads a message: three backticks anywhere begin a block, the next three end it. */
function isValid(page: string): boolean {
  const fences = page.split("```").length - 1;
  return page.length > 0 && page.length <= SMALL && page.trim() === page && fences % 2 === 0;
}

test("2,000 documents cut at every position: no sealed page changes, every page is valid by itself", () => {
  fc.assert(
    fc.property(lines, (kinds) => {
      const { text } = build(kinds);
      const whole = splitMarkdown(text, SMALL);
      let sealed = 0;
      for (let at = 0; at <= text.length; at++) {
        const cut = splitMarkdown(text.slice(0, at), SMALL);
        if (cut.sealed < sealed) throw new Error(`at ${at} page ${cut.sealed} is not sealed any more`);
        sealed = cut.sealed;
        for (const [i, page] of cut.pages.entries()) {
          if (!isValid(page)) throw new Error(`at ${at}, page ${i} is not valid: ${JSON.stringify(page)}`);
          if (i < sealed && page !== whole.pages[i])
            throw new Error(`at ${at}, page ${i} changes: ${JSON.stringify([page, whole.pages[i]])}`);
        }
      }
    }),
    { numRuns: 2_000 },
  );
});

test("of 2,000 documents every word is shown once and in order, a wide table's header with each row", () => {
  const shown = (pages: readonly string[]) =>
    pages
      .join("\n")
      .replace(/^```\w*$/gm, "")
      .replace(/[\s\u200b`]/g, "");
  fc.assert(
    fc.property(lines, (kinds) => {
      const { text, words, headers } = build(kinds);
      const all = shown(splitMarkdown(text, SMALL).pages);
      let last = -1;
      for (const word of words) {
        const found = all.indexOf(word);
        if (found < 0) throw new Error(`${word} is missing in ${JSON.stringify(all)}`);
        if (headers.has(word)) continue;
        if (found < last || all.includes(word, found + 1))
          throw new Error(`${word} is there twice or too early in ${JSON.stringify(all)}`);
        last = found;
      }
    }),
    { numRuns: 2_000 },
  );
});

test("a list goes on as one on the next page: what stood below an item does not stand beside it", () => {
  const nested = Array.from(
    { length: 60 },
    (_, i) => `${"  ".repeat(1 + (i % 3))}- item ${i} ${"x".repeat(20)}`,
  );
  const { pages } = splitMarkdown(["- all", ...nested].join("\n"), MAX);
  expect(pages.length).toBeGreaterThan(3);
  const depth = (line: string) => (line.length - line.trimStart().length) / 2;
  for (const page of pages.slice(1)) {
    const shown = page.split("\n");
    const places = shown.map((line) => Number(/item (\d+)/.exec(line)?.[1]) % 3);
    const first = places[0] ?? 0;
    expect(shown.map(depth)).toEqual(places.map((place) => Math.max(0, place - first)));
  }
});

test("50 nested lists, a table of 30 columns and a fence that never closes are valid and whole", () => {
  const nested = Array.from({ length: 50 }, (_, i) => `${"  ".repeat(i)}- level ${i}.`);
  const cells = Array.from({ length: 30 }, (_, i) => `cell${i}.`);
  const table = [
    `|${cells.map((_, i) => `name${i}.`).join("|")}|`,
    `|${"---|".repeat(30)}`,
    `|${cells.join("|")}|`,
  ];
  const code = Array.from({ length: 100 }, (_, i) => `code line ${i}.`);
  const { pages } = splitMarkdown([...nested, "", ...table, "", "```ts", ...code].join("\n"));
  const all = pages.join("\n");
  for (const page of pages) {
    expect(page.length).toBeLessThanOrEqual(2_000);
    expect((page.split("```").length - 1) % 2).toBe(0);
  }
  const expected = [...nested.map((_, i) => `level ${i}.`), ...cells, ...code];
  for (const text of expected) expect(all.split(text).length - 1, text).toBe(1);
});

test("a code block's only line is shown, though it stands where a language does", () => {
  const shown = (text: string) => splitMarkdown(text).pages;
  expect(shown("```npm install x\n```")).toEqual(["```\nnpm install x\n```"]);
  expect(shown("~~~ ls\n\n~~~\nafter")).toEqual(["```\nls\n```\nafter"]);
  expect(shown("- ```make\n  ```")).toEqual(["-\n```\nmake\n```"]);
  expect(shown("```ts title\nlet a;\n```")).toEqual(["```ts\nlet a;\n```"]);
});

test("bold, code and quotes that cross a message are closed and opened again", () => {
  const words = (count: number) => Array.from({ length: count }, (_, i) => `word${i}`).join(" ");
  const inside = words(120);
  const cases: [string, string, string][] = [
    [`Look: **${inside}** end`, "**", "**"],
    [`a __${inside}__`, "__", "__"],
    [`~~${inside}~~ b`, "~~", "~~"],
    [`||${inside}||`, "||", "||"],
    [`see \`${inside}\``, "`", "`"],
    [`**bold \`${inside}\`** end`, "**`", "`**"],
    [`> ${inside}`, "> ", ""],
    [`> **${inside}** end`, "> **", "**"],
  ];
  for (const [line, opening, closing] of cases) {
    const { pages } = splitMarkdown(`before\n${line}\nafter`, MAX);
    expect(pages.length, line.slice(0, 20)).toBeGreaterThan(2);
    const [first = -1, last = 0] = ["word0 ", "word119"].map((word) =>
      pages.findIndex((page) => page.includes(word)),
    );
    expect(last).toBeGreaterThan(first + 1);
    for (const page of pages.slice(first, last)) expect(page.endsWith(closing), page).toBe(true);
    for (const page of pages.slice(first + 1, last + 1)) expect(page.startsWith(opening), page).toBe(true);
    expect(pages.join(" ").match(/word\d+/g)).toEqual(inside.split(" "));
    for (const page of pages) expect(page.length).toBeLessThanOrEqual(MAX);
  }
});

test("marks that are text stay as they are where a line is cut", () => {
  const power = `2 ** 3 \\*\\* and \`\`\` ${"word ".repeat(150)}`;
  const { pages } = splitMarkdown(power, MAX);
  expect(pages.join(" ").match(/\*\*/g)).toHaveLength(1);
});
