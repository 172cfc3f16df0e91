import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  BLANK_PAGE,
  BODY_UNITS,
  fence,
  fitScreen,
  gapNotice,
  joinPages,
  PAGE_UNITS,
  toRows,
  wrapRows,
} from "./pages.ts";
import { RUNS } from "./testing/programs.ts";
import { cleanRow, formatBytes, splitText } from "./text.ts";

/** Text made to break out: fences, marks, invisible and reordering characters, halves of pairs. */
const nasty = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        "`",
        "``",
        "```",
        "```\n",
        "\\",
        "@everyone",
        "<@1>",
        "||",
        "\u200b",
        "\u2060",
        "\u200d",
        "\u202e",
        "\u2028",
        "\ud83d",
        "\u{e0041}",
        "👩‍💻",
        "e\u0301",
        "日",
        " ",
        "\t",
        "\n",
        "\r",
        "\x1b[31m",
        "\u0000",
      ),
      fc.string({ unit: "binary", maxLength: 5 }),
    ),
    { maxLength: 40, size: "max" },
  )
  .map((parts) => parts.join(""));

const HARMFUL =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: what must not come out
  /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2028\u2029\u2066-\u2069\ufeff]|\p{Cs}/u;

describe("fence", () => {
  it("keeps text as it is", () => {
    expect(fence(["a  b", "", "  c"])).toBe("```\na  b\n\n  c\n```");
  });

  it("holds blank rows at both ends open, and is never an empty message", () => {
    expect(fence(["", "a", ""])).toBe("```\n\u200b\na\n\u200b\n```");
    expect(fence(["", ""])).toBe("```\n\u200b\n\u200b\n```");
    expect(fence([])).toBe("```\n\u200b\n```");
    expect(BLANK_PAGE).toBe(fence([]));
  });

  it("cannot be closed from inside", () => {
    expect(fence(["a```b`"])).toBe("```\na`\u200b`\u200b`b`\u200b\n```");
    fc.assert(
      fc.property(fc.array(nasty), (lines) => {
        const text = fence(lines);
        expect(text.slice(3, -3)).not.toContain("``");
        expect(text.startsWith("```\n") && text.endsWith("\n```")).toBe(true);
        expect(text.slice(4, -4)).toMatch(/^[^\n]/);
        expect(text.slice(4, -4)).toMatch(/[^\n ]$/);
        expect(text).not.toMatch(HARMFUL);
      }),
      RUNS,
    );
  });

  it("keeps joined emoji and scripts, drops joiners that join nothing", () => {
    for (const text of ["👩‍💻", "👨🏽‍🚒", "می‌خواهم", "❤️"]) expect(cleanRow(text)).toBe(text);
    expect(cleanRow("a\u200db \u200d`\u200d`\u200d\u200d")).toBe("ab ``");
  });

  it("cleans once and for all", () => {
    fc.assert(
      fc.property(nasty, (text) => {
        expect(cleanRow(cleanRow(text))).toBe(cleanRow(text));
      }),
      RUNS,
    );
  });
});

describe("toRows", () => {
  it("cuts a row longer than a page without loss, between graphemes", () => {
    const unit = fc.constantFrom("a", "`", "👩‍💻", "e\u0301", "日", "🇩🇪", "é");
    fc.assert(
      fc.property(fc.array(unit, { minLength: 1500, maxLength: 4000, size: "max" }), (units) => {
        const text = units.join("");
        const rows = toRows({ text, wrapped: false });
        expect(rows.every((row) => row.length <= BODY_UNITS)).toBe(true);
        expect(joinPages(rows.map((row) => wrapRows([row])))).toBe(text);
        const graphemes = [...new Intl.Segmenter("en").segment(text)].length;
        const parts = splitText(text, 1000).map((part) => [...new Intl.Segmenter("en").segment(part)].length);
        expect(parts.reduce((sum, count) => sum + count)).toBe(graphemes);
      }),
      { ...RUNS, numRuns: 20 },
    );
  });

  it("cuts even one endless grapheme, never a surrogate pair", () => {
    const rows = toRows({ text: `👩${"\u200d👩".repeat(2000)}`, wrapped: false });
    expect(rows.length).toBeGreaterThan(1);
    expect(rows.join("")).not.toMatch(/\p{Cs}/u);
  });

  it("paints runs with what Discord knows", () => {
    const line = {
      text: "ok ``",
      wrapped: false,
      runs: [
        { start: 0, sgr: "1;32" },
        { start: 2, sgr: "" },
      ],
    };
    expect(wrapRows(toRows(line, true), true)).toBe("```ansi\n\x1b[1;32mok\x1b[0m `\u200b`\u200b\n```");
    expect(joinPages([wrapRows(toRows(line, true), true)])).toBe("ok ``");
  });
});

describe("gapNotice", () => {
  it("counts exactly", () => {
    expect(gapNotice({ lines: 48_210, bytes: 2_100_000 })).toBe(
      "… 48,210 lines (2.1 MB) not shown, /export has them",
    );
    expect(gapNotice({ lines: 1, bytes: 7 })).toBe("… 1 line (7 B) not shown, /export has them");
    expect([999_949, 999_950, 1e9].map(formatBytes)).toEqual(["999.9 kB", "1.0 MB", "1.0 GB"]);
  });
});

describe("fitScreen", () => {
  const lines = Array.from({ length: 50 }, (_, row) => ({
    text: `${row} `.padEnd(118, "x"),
    wrapped: false,
  }));

  it("shows a picture whole where it fits", () => {
    expect(fitScreen(lines.slice(0, 10), 3)).toEqual(lines.slice(0, 10).map((line) => line.text));
  });

  it("keeps the cursor's row and says what is not there", () => {
    for (const cursor of [0, 20, 49, 60]) {
      const rows = fitScreen(lines, cursor);
      expect(rows.some((row) => row.startsWith(`${Math.min(cursor, 49)} `))).toBe(true);
      expect(wrapRows(rows).length).toBeLessThanOrEqual(PAGE_UNITS);
      const hidden = rows.map((row) => Number(/^… (\d+) rows/.exec(row)?.[1] ?? 0)).reduce((a, b) => a + b);
      expect(hidden + rows.filter((row) => !row.startsWith("…")).length).toBe(50);
    }
  });
});
