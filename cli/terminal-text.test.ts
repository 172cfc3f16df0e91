import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { drawingOnly, plainText, type TextFilter } from "./terminal-text.ts";

const through = (filter: TextFilter, ...chunks: string[]) => chunks.map(filter.push).join("") + filter.end();
const plain = (...chunks: string[]) => through(plainText(), ...chunks);
const RESET = "\x0f\x1b(B\x1b[0m";

describe("plain text", () => {
  test.each([
    ["\x1b[1;31mred\x1b[0m\r\n", "red\n"],
    ["a\x1b]0;title\x07b\x1b]8;;http://x\x1b\\c", "abc"],
    ["a\x1bP+q544e\x1b\\b\x1b_Gi=1;AAAA\x1b\\c", "abc"],
    ["\x1b(B\x1b=\x1b7x\x1b8\x1b#8y", "xy"],
    ["10%\r20%\r\r\n", "10%\r20%\n"],
    ["a\tb\x07\b\0\x9b31mc", "a\tb31mc"],
    ["漢字 é 🎉", "漢字 é 🎉"],
    ["\x1b]0;cut\x1b[1mnot lost", "not lost"],
    ["\x1b[31\x18shown", "shown"],
    ["\x1b[3\n1mline", "\nline"],
    ["an unfinished \x1b[31", "an unfinished "],
  ])("%j", (raw, expected) => {
    expect(plain(raw)).toBe(expected);
  });

  test("a picture of any size is left out", () => {
    const picture = Array.from({ length: 50 }, () => "x".repeat(4_000));
    expect(plain("a\x1bPq", ...picture, "\x1b\\b")).toBe("ab");
  });

  const parts = ["\x1b", "[", "]", "?", "25", "h", "m", ";", "\x07", "\\", "\r", "\n", "P", "a", "é", "\x18"];
  const terminalText = fc.array(fc.constantFrom(...parts)).map((some) => some.join(""));

  test("it does not matter where the pieces are cut, and nothing that acts comes through", () => {
    fc.assert(
      fc.property(terminalText, (raw) => {
        const pieces = [...raw];
        expect(plain(...pieces)).toBe(plain(raw));
        expect(through(drawingOnly(), ...pieces)).toBe(through(drawingOnly(), raw));
        // biome-ignore lint/suspicious/noControlCharactersInRegex: that is the point
        expect(plain(raw)).not.toMatch(/[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]/);
      }),
    );
  });
});

describe("what only draws", () => {
  const drawn = (raw: string) => through(drawingOnly(), raw);

  test.each([
    "\x1b[1;38;5;200mcolour\x1b[m",
    "\x1b[2J\x1b[H\x1b[10;5Hthere\x1b[K",
    "\x1b[3A\x1b[2Pline\x1b[5@\x1b[L\x1b[M",
    "\x1b7\x1b8\x1bM",
    "\x1b]8;;https://example.org\x1b\\link\x1b]8;;\x1b\\",
    "tab\t\b\x07\r\n",
  ])("%j goes through", (raw) => {
    expect(drawn(raw)).toBe(raw + RESET);
  });

  test.each([
    [
      "questions",
      "\x1b[c\x1b[>c\x1b[6n\x1b[?6n\x1b[?25$p\x1b[>q\x1b[18t\x1bZ\x05\x1b]11;?\x07\x1bP+q544e\x1b\\\x1b[x",
    ],
    [
      "clipboard, title, notification, file",
      "\x1b]52;c;aGk=\x07\x1b]0;t\x07\x1b]9;n\x07\x1b]1337;File=:AA\x07",
    ],
    [
      "keyboard and mouse modes",
      "\x1b[?1000h\x1b[?1006h\x1b[?2004h\x1b[?1h\x1b=\x1b[>1u\x1b[>4;2m\x1b[?1004h",
    ],
    ["a reset, and the history", "\x1bc\x1b[!p\x1b[3J"],
  ])("%s do not", (_what, raw) => {
    expect(drawn(raw)).toBe("");
  });

  test("at the end the cursor, the screen and the region are as before", () => {
    expect(drawn("\x1b[?1049;1000h\x1b[?25l\x1b[2;5rx")).toBe(
      `\x1b[?1049h\x1b[?25l\x1b[2;5rx\x1b[?1049l\x1b[?25h\x1b7\x1b[r\x1b8${RESET}`,
    );
    expect(drawn("\x1b[?25l\x1b[?25h")).toBe(`\x1b[?25l\x1b[?25h${RESET}`);
  });
});
