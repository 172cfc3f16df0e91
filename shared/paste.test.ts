import fc from "fast-check";
import { expect, test } from "vitest";
import { asLines, insideFrame, isPasted } from "./paste.ts";

test.each([
  ["one line", false],
  ["one line\n", false],
  ["two\nlines", true],
  ["two\r\nlines\n", true],
  ["\n\n", false],
  ["keys\rand Enter", false],
  ["", false],
])("%j: pasted by itself: %s", (text, expected) => {
  expect(isPasted(text, "auto")).toBe(expected);
  expect([isPasted(text, true), isPasted(text, false)]).toEqual([text !== "", false]);
});

test("line ends become Enter, each once", () => {
  expect(asLines("a\r\nb\nc\rd\n\n")).toBe("a\rb\rc\rd\r\r");
});

test.each([
  ["\tif x:\r\n\t\ty\n", "\tif x:\r\t\ty\r"],
  ["a\x1b[201~b", "ab"],
  ["a\x1b[200~b\x9b201~c", "abc"],
  ["a\x1b[20\x1b[201~1~b", "a[201~b"],
  ["a\x1b\x1b[201~", "a"],
  ["C-c \x03, C-z \x1a, C-\\ \x1c, C-s \x13, C-q \x11.", "C-c , C-z , C-\\ , C-s , C-q ."],
  ["backspace \b, form feed \f, ä€😀\u0000", "backspace \b, form feed \f, ä€😀\u0000"],
])("%j becomes %j in a frame", (text, inside) => {
  expect(insideFrame(text)).toBe(inside);
});

test("no text holds an end of the frame, nor begins one that the end itself would finish", () => {
  const piece = fc.constantFrom("\x1b", "[", "201~", "\x1b[201~", "\x9b", "20", "1~", "\n", "\r\n", "x");
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
      const framed = `\x1b[200~${insideFrame(pieces.join(""))}\x1b[201~`;
      expect(framed.indexOf("\x1b[201~")).toBe(framed.length - 6);
      expect(framed.lastIndexOf("\x1b", framed.length - 7)).toBe(0);
    }),
  );
});
