import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { cleanLine, cleanLines, replaceHarmful, writeOutHidden, writeOutLine } from "./clean-text.ts";

const HARM = /[\p{Cc}\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\u2028\u2029\p{Cs}]/u;

test.each([
  ["a\n b\tc ", "a b c"],
  ["\x1b]0;x\x07", "\ufffd]0;x\ufffd"],
  ["\u202eevil\u200b\x9b", "\ufffdevil\ufffd\ufffd"],
  ["main\u200d\u{e0041}", "main\ufffd\ufffd"],
  ["漢字 é 👩\u200d💻 می\u200cخواهم", "漢字 é 👩\u200d💻 می\u200cخواهم"],
])("%j on a line is %j", (text, expected) => {
  expect(cleanLine(text)).toBe(expected);
});

test("lines stay lines, and tabs tabs", () => {
  expect(cleanLines("a\tb\r\n\x1b[31mc\r\n")).toBe("a\tb\n\ufffd[31mc\n");
});

describe("any text", () => {
  it("is written out on a line the same, however much of it is wanted", () => {
    const piece = fc.constantFrom(
      " ",
      "\n",
      "a",
      "\u200d",
      "\ufe0f",
      "\u202e",
      "\u0645",
      "\u{1f469}",
      "\ud800",
      "1",
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 60 }), fc.nat(30), (pieces, max) => {
        const text = pieces.join("");
        const [whole, part] = [writeOutLine(text), writeOutLine(text, max)];
        expect(part.slice(0, max)).toBe(whole.slice(0, max));
        expect(part.length > max).toBe(whole.length > max);
      }),
    );
  });

  // Promise: S23
  it("has nothing harmful left, and does not change again", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", size: "max", maxLength: 80 }), (text) => {
        for (const clean of [cleanLine, cleanLines, (dirty: string) => replaceHarmful(dirty, "")]) {
          const once = clean(text);
          expect(once.replaceAll(clean === cleanLines ? /[\n\t]/g : /$^/g, "")).not.toMatch(HARM);
          expect(clean(once)).toBe(once);
        }
      }),
    );
  });
});

test.each([
  ["a\u202eb\u200bc", "a⟨U+202E⟩b⟨U+200B⟩c"],
  ["a\u00a0b\u3000\u2800", "a⟨U+00A0⟩b⟨U+3000⟩⟨U+2800⟩"],
  ["x\r\n\ty\u2028\x1b[m", "x⟨U+000D⟩\n\ty⟨U+2028⟩⟨U+001B⟩[m"],
  ["é 漢字 👩\u200d💻", "é 漢字 👩\u200d💻"],
])("%j with what hides written out is %j", (text, expected) => {
  expect(writeOutHidden(text)).toBe(expected);
});
