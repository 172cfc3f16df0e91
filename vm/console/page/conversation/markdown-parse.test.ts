import fc from "fast-check";
import { expect, test } from "vitest";
import { cpuMsOf } from "../../../../test/support/measure.ts";
import { type Block, type Inline, parseMarkdown } from "./markdown-parse.ts";

function wordsOf(parts: readonly Inline[]): string {
  return parts
    .map((part) => {
      if ("children" in part) return wordsOf(part.children);
      return part.kind === "link" ? (part.label ?? part.address) : part.text;
    })
    .join("");
}

const textOf = (block: Block) =>
  "children" in block ? wordsOf(block.children) : block.kind === "code" ? block.text : "";

test.each([
  ["# A *b*\ntext\nmore", ["heading", "paragraph"], ["A b", "text\nmore"]],
  ["- [x] a\n  - b\n1. c", ["item", "item", "item"], ["a", "b", "c"]],
  ["```ts\na\n\n# b\n```\nc", ["code", "paragraph"], ["a\n\n# b", "c"]],
  ["~~~\nnever closed", ["code"], ["never closed"]],
  ["> q\n---", ["quote", "rule"], ["q", ""]],
  ["| a | bb |\n|---|----|\n| ccc | d |", ["code"], ["a    bb\n───  ──\nccc  d"]],
])("%j", (text, kinds, texts) => {
  const blocks = parseMarkdown(text);
  expect(blocks.map(({ kind }) => kind)).toEqual(kinds);
  expect(blocks.map(textOf)).toEqual(texts);
});

test("only http addresses are links", () => {
  const [block] = parseMarkdown("[a](javascript:x) ![p](https://x.org/p) <https://y.org/a_b>. [c](//z.org)");
  const links = (block && "children" in block ? block.children : []).filter(({ kind }) => kind === "link");
  expect(links).toEqual([
    { kind: "link", address: "https://x.org/p", label: "p" },
    { kind: "link", address: "https://y.org/a_b", label: undefined },
  ]);
});

test("any text is read, and no word of a plain one is lost", () => {
  fc.assert(fc.property(fc.string({ unit: "binary", maxLength: 200 }), (text) => void parseMarkdown(text)));
  fc.assert(
    fc.property(fc.array(fc.stringMatching(/^[a-z ]{1,20}$/), { maxLength: 10 }), (lines) => {
      const words = (text: string) => text.split(/\s+/).filter((word) => word !== "");
      expect(parseMarkdown(lines.join("\n")).flatMap((block) => words(textOf(block)))).toEqual(
        words(lines.join("\n")),
      );
    }),
  );
});

test.each(["*", "**a", "`", "[", "[a](", "~~", "_a ", "|", "> ", "https://", "\\", "![", "- "])(
  "64 KiB of %j cost little",
  async (piece) => {
    const cpuMs = await cpuMsOf(() => {
      parseMarkdown(piece.repeat(Math.ceil(65_536 / piece.length)));
      parseMarkdown(`${piece.repeat(Math.ceil(3_900 / piece.length))}\n\n`.repeat(16));
    });
    expect(cpuMs).toBeLessThan(2_000);
  },
);
