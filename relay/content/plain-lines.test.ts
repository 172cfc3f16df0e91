import { describe, expect, it } from "vitest";
import { findPlainBlock, forEachRow } from "./plain-lines.ts";

describe("findPlainBlock", () => {
  it("leaves the last screenful to the emulator", () => {
    expect(findPlainBlock("a\r\nb\r\n", 0, 80, 2)).toBeUndefined();
    expect(findPlainBlock("a\r\nb\r\nc\r\nd", 0, 80, 2)).toEqual({
      settled: "a\r\n",
      isOneRowEach: true,
      tail: "b\r\nc\r\n",
      end: 9,
    });
  });

  it("ends before the line that is not plain", () => {
    const lines = "1\r\n2\r\n3\r\n4\r\n";
    for (const other of ["é", "\t", "\x1b[K", "\x1b[3", "\x1b", "\rx", "\n", "\x7f", "\b"]) {
      expect(findPlainBlock(`${lines}x${other}\r\n5\r\n`, 0, 80, 2)?.end).toBe(lines.length);
    }
  });

  it("knows which lines are not one plain row", () => {
    for (const odd of ["12345", "1 ", "`", "\x1b[1;31m1\x1b[m"]) {
      const block = findPlainBlock(`${odd}\r\n2\r\n3\r\n`, 0, 4, 2);
      expect(block?.isOneRowEach).toBe(false);
      expect(block?.settled).not.toContain("\x1b");
    }
  });
});

describe("forEachRow", () => {
  it("wraps at the terminal's width", () => {
    const rows: [string, boolean][] = [];
    forEachRow("12345 \r\n\r\nab  \r\n", 4, (text, wrapped) => rows.push([text, wrapped]));
    expect(rows).toEqual([
      ["1234", false],
      ["5", true],
      ["", false],
      ["ab", false],
    ]);
  });
});
