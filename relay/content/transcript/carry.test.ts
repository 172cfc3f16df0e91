import fc from "fast-check";
import { expect, test } from "vitest";
import { type Block, type Inline, parseMarkdown } from "../../../local-discord/page/markdown-parse.ts";
import { splitMarkdown } from "./split.ts";

/** Each character that a reader sees, and how: as the page of the local stand-in reads Markdown. */
function seen(page: string): string[] {
  const found: string[] = [];
  const inline = (parts: readonly Inline[], how: readonly string[]) => {
    for (const part of parts) {
      if ("children" in part) inline(part.children, [...how, part.kind]);
      else if (part.kind === "text" || part.kind === "code") {
        const kinds = part.kind === "code" ? [...how, "code"] : how;
        const shown = [...new Set(kinds)].sort().join(" ");
        for (const sign of part.text.replace(/\s/g, "")) found.push(`${sign} ${shown}`);
      } else found.push(`${JSON.stringify(part)} ${how.join(" ")}`);
    }
  };
  const blocks = (all: readonly Block[], how: readonly string[]) => {
    for (const block of all) {
      if (block.kind === "quote") blocks(block.blocks, [...how, "quote"]);
      else if (block.kind === "code")
        for (const sign of block.text.replace(/\s/g, "")) found.push(`${sign} block`);
      else if (block.kind === "lines") inline(block.children, how);
      else if (block.kind === "item") inline(block.children, [...how, `item ${block.marker}`]);
      else if (block.kind === "heading") inline(block.children, [...how, `heading ${block.level}`]);
      else inline(block.children, [...how, "small"]);
    }
  };
  blocks(parseMarkdown(page), []);
  return found;
}

const word = fc.stringMatching(/^[a-zäß🙂0-9,.-]{1,9}$/u).map((text) => `w${text}`);
const blank = fc.constantFrom(" ", " ", " ", "\n", "\n\n");
const joined = (parts: fc.Arbitrary<string>, max: number) =>
  fc
    .array(fc.tuple(parts, blank), { minLength: 1, maxLength: max })
    .map((all) => all.map(([part, between], i) => (i === 0 ? part : between + part)).join(""));
/** Marks in each other, none in itself. Two stars lie in no single one: the stand-in reads that otherwise. */
function marked(marks: readonly string[], depth = 0): fc.Arbitrary<string> {
  const inside = (mark: string) =>
    marks.filter((other) => other !== mark && !(mark.length === 1 && other === mark + mark));
  const span = (mark: string) => {
    const edge = mark.length > 1 ? fc.constantFrom("", "", "\n") : fc.constant("");
    const inner = depth < 2 ? marked(inside(mark), depth + 1) : joined(word, 20);
    return fc.tuple(inner, edge).map(([text, edge]) => mark + edge + text + edge + mark);
  };
  const code = joined(word, 12).map((text) => `\`${text}\``);
  const plain = depth === 0 ? fc.oneof(word, word, fc.constantFrom(...NO_MARKS)) : word;
  return joined(fc.oneof(plain, plain, plain, code, ...marks.map(span)), 9);
}
const NO_MARKS = ["snake_case_name", "2 * 3 * 4", "a \\> b", "https://a.example/x_y_z", "~", "a|b"];
const MARKS = ["**", "*", "__", "_", "~~", "||"];
const oneLine = (text: string) => text.replace(/\s+/g, " ").trim();
const passage = fc.oneof(
  { weight: 3, arbitrary: marked(MARKS) },
  { weight: 2, arbitrary: marked(MARKS).map((text) => text.replace(/^/gm, "> ")) },
  ...["- ", "7. ", "  - ", "## ", "-# ", "> - ", "> 12. "].map((lead) => ({
    weight: 1,
    arbitrary: marked(MARKS).map((text) => lead + oneLine(text)),
  })),
  { weight: 1, arbitrary: joined(word, 30).map((text) => `\`\`\`\n${text}\n\`\`\``) },
  { weight: 1, arbitrary: fc.constant("") },
);
const document = fc.array(passage, { minLength: 1, maxLength: 6 }).map((all) => all.join("\n"));

test("what messages show, joined, is what one long message would show", () => {
  fc.assert(
    fc.property(document, fc.integer({ min: 90, max: 400 }), (text, max) => {
      const [whole = "", ...more] = splitMarkdown(text, 1_000_000).pages;
      expect(more).toEqual([]);
      const { pages } = splitMarkdown(text, max);
      for (const page of pages) expect(page.length).toBeLessThanOrEqual(max);
      expect(pages.flatMap(seen).join("\n"), JSON.stringify(pages, null, 1)).toBe(seen(whole).join("\n"));
    }),
    { numRuns: 120 },
  );
});

test.each([
  ["a paragraph of bold lines", "**", "**"],
  ["a quote of bold lines", "> **", "**"],
  ["lines in one star", "*", "*"],
  ["lines in one underscore", "_", "_"],
  ["hidden lines", "||", "||"],
  ["marks in marks", "**_~~", "~~_**"],
])("%s stays one where a message ends between its lines", (_, opening, closing) => {
  const lines = Array.from({ length: 40 }, (_, i) => `line${i} of some words`);
  const quote = opening.startsWith("> ") ? "> " : "";
  const text = `${opening}${lines.join(`\n${quote}`)}${closing}\n\nafter`;
  const { pages } = splitMarkdown(text, 300);
  expect(pages.length).toBeGreaterThan(2);
  for (const page of pages) expect(page.startsWith(opening), page).toBe(true);
  for (const page of pages.slice(0, -1)) expect(page.endsWith(closing), page).toBe(true);
});

test("an item that goes on in the next message is one there, with its number", () => {
  const words = Array.from({ length: 80 }, (_, i) => `word${i}`).join(" ");
  const numbered = splitMarkdown(`3. three\n4. **${words}**\n5. five`, 300).pages;
  expect(numbered.length).toBeGreaterThan(1);
  for (const page of numbered.slice(1)) expect(page).toMatch(/^4\. \*\*word\d+ /);
  expect(numbered.at(-1)).toMatch(/\*\*\n5\. five$/);
  // Lines of an item that are short by themselves.
  const lines = Array.from({ length: 40 }, (_, i) => `  line${i} of it`);
  const item = splitMarkdown(`- one\n${lines.join("\n")}\n- two`, 300).pages;
  expect(item.length).toBeGreaterThan(2);
  for (const page of item.slice(1, -1)) expect(page).toMatch(/^- line\d+ of it\n {2}line/);
  const nested = splitMarkdown(`- one\n  - ${words}\n  - three`, 300).pages;
  expect(nested.at(-1)).toMatch(/^- word\d+.*\n- three$/);
});

test("a mark that opens at a message's end, or closes at its beginning, stands in one of the two only", () => {
  const line = "x".repeat(294);
  expect(splitMarkdown(`${line} **\n${line}\n** after`, 300).pages).toEqual([line, `**${line}**`, "after"]);
});

test("no quote in a quote quotes what follows", () => {
  expect(splitMarkdown(">>> one\n>\n> two\nthree").pages).toEqual(["> one\n> \n> two\nthree"]);
});

test("code that holds a backtick begins no block where a message ends beside it", () => {
  const { pages } = splitMarkdown(`\`\`a ${"`x y` ".repeat(60)}a\`\``, 90);
  expect(pages.length).toBeGreaterThan(1);
  for (const page of pages) expect(page).not.toContain("```");
});
