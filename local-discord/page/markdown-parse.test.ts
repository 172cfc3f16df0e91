import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { cpuMsOf } from "../../test/support/measure.ts";
import { type Block, type Inline, parseInline, parseMarkdown } from "./markdown-parse.ts";

const text = (value: string): Inline => ({ kind: "text", text: value });
const lines = (...children: Inline[]): Block => ({ kind: "lines", children });

describe("blocks", () => {
  test.each<[string, Block[]]>([
    ["# One\n## Two\nrest", [heading(1, "One"), heading(2, "Two"), lines(text("rest"))]],
    ["#none\n-#none", [lines(text("#none\n-#none"))]],
    ["-# small", [{ kind: "small", children: [text("small")] }]],
    ["- a\n  - b\n2. c", [item(0, "•", "a"), item(1, "•", "b"), item(0, "2.", "c")]],
    ["> a\n> b\nc", [quote(lines(text("a\nb"))), lines(text("c"))]],
    [">>> a\n```\nx\n```", [quote(lines(text("a")), code("x"))]],
    ["```ansi\nx\n```", [code("x", "ansi")]],
    ["a ```x``` b", [lines(text("a ")), code("x"), lines(text(" b"))]],
    ["```\n**no**\n``` after", [code("**no**"), lines(text(" after"))]],
    ["```bash\n```", [code("bash")]],
    ["```never closed", [lines(text("```never closed"))]],
  ])("%j", (source, expected) => {
    expect(parseMarkdown(source)).toEqual(expected);
  });

  function heading(level: number, label: string): Block {
    return { kind: "heading", level, children: [text(label)] };
  }
  function item(depth: number, marker: string, label: string): Block {
    return { kind: "item", depth, marker, children: [text(label)] };
  }
  function quote(...blocks: Block[]): Block {
    return { kind: "quote", blocks };
  }
  function code(content: string, language?: string): Block {
    return { kind: "code", language, text: content };
  }
});

describe("inline", () => {
  test.each<[string, Inline[]]>([
    [
      "**b** _i_",
      [{ kind: "strong", children: [text("b")] }, text(" "), { kind: "em", children: [text("i")] }],
    ],
    ["**over\nlines**", [{ kind: "strong", children: [text("over\nlines")] }]],
    ["snake_case_name", [text("snake_case_name")]],
    ["\\*not\\*", [text("*"), text("not"), text("*")]],
    ["`**` ``a`b``", [{ kind: "code", text: "**" }, text(" "), { kind: "code", text: "a`b" }]],
    ["||~~x~~||", [{ kind: "spoiler", children: [{ kind: "strike", children: [text("x")] }] }]],
    [
      "<@1> <#2> <@&3>",
      [
        { kind: "user", id: "1" },
        text(" "),
        { kind: "channel", id: "2" },
        text(" "),
        { kind: "role", id: "3" },
      ],
    ],
    ["<t:60:R>", [{ kind: "time", seconds: 60, style: "R" }]],
    ["[a](https://b.example)", [{ kind: "link", address: "https://b.example", label: [text("a")] }]],
    ["[a](javascript:alert(1))", [text("[a](javascript:alert(1))")]],
    [
      "see https://a.example/x.",
      [text("see "), { kind: "link", address: "https://a.example/x", label: undefined }, text(".")],
    ],
  ])("%j", (source, expected) => {
    expect(parseInline(source)).toEqual(expected);
  });

  test("a label that looks like another address is no link", () => {
    const [first] = parseInline("[https://good.example](https://evil.example)");
    expect(first).toEqual(text("["));
  });
});

const SIGNS = [
  "*",
  "**",
  "_",
  "__",
  "~~",
  "||",
  "`",
  "```",
  "\\",
  "[",
  "](",
  ")",
  "<@1>",
  "<t:1>",
  "\n",
  "> ",
  ">>> ",
  "# ",
  "- ",
  "https://a.example",
  "a",
  " ",
];
const hostile = fc.array(fc.constantFrom(...SIGNS), { maxLength: 400 }).map((parts) => parts.join(""));

/** All characters that end up as text, in order. */
function textOf(blocks: readonly Block[]): string {
  const ofInline = (part: Inline): string => {
    if ("children" in part) return part.children.map(ofInline).join("");
    if (part.kind === "link") return part.label?.map(ofInline).join("") ?? part.address;
    return "text" in part ? part.text : "";
  };
  return blocks
    .map((block) => {
      if (block.kind === "quote") return textOf(block.blocks);
      return block.kind === "code" ? block.text : block.children.map(ofInline).join("");
    })
    .join("");
}

test("whatever is written, no character is made up, and links lead to http alone", () => {
  fc.assert(
    fc.property(fc.oneof(hostile, fc.string({ unit: "grapheme" })), (source) => {
      const blocks = parseMarkdown(source);
      let at = 0;
      for (const character of textOf(blocks)) {
        const found = source.indexOf(character, at);
        expect(found).toBeGreaterThanOrEqual(at);
        at = found + character.length;
      }
      expect(JSON.stringify(blocks)).not.toMatch(/"address":"(?!https?:\/\/)/);
    }),
  );
});

test.each([
  ["[", 4000],
  ["**", 2000],
  ["*a ", 1300],
  ["_a_ [", 800],
  ["||**__~~", 500],
  ["```\n", 1000],
  ["> ", 2000],
  [">>> ", 1000],
  ["<https://", 400],
  ["- a\n", 1000],
])("%j, %i times, takes no longer than a blink", async (sign, times) => {
  const source = sign.repeat(times);
  expect(await cpuMsOf(() => parseMarkdown(source))).toBeLessThan(500);
});
