import { describe, expect, it } from "vitest";
import { Screen } from "./screen.ts";

const SIZE = { cols: 20, rows: 4 };

/** What is set before the snapshot and shows only after it. */
const CASES: Record<string, readonly [before: string, after: string]> = {
  "text and cursor": ["one\r\ntwo", " three"],
  "a full last column": ["x".repeat(20), "y"],
  "a scroll region": ["1\r\n2\r\n3\r\n4\x1b[2;3r\x1b[3;1H", "\nb\nc"],
  "origin mode": ["\x1b[2;3r\x1b[?6h", "\x1b[Hx"],
  "insert mode": ["abc\x1b[4h\r", "x"],
  "no wraparound": ["\x1b[?7l", "x".repeat(30)],
  "reverse wraparound": [`\x1b[?45h${"x".repeat(21)}`, "\b\b\by"],
  "tab stops": ["\x1b[3g\x1b[5G\x1bH\r", "\tx"],
  "the saved cursor": ["\x1b[2;5H\x1b7\x1b[H", "\x1b8x"],
  "the saved character set": ["\x1b(0\x1b7\x1b(B", "\x1b8q"],
  "the character set": ["\x1b(0", "q"],
  "a character set not invoked yet": ["\x1b)0", "\x0eq"],
  "the invoked character set": ["\x0e", "\x1b)0q"],
  "a character that a mark joins": ["e", "\u0301"],
  "a character to repeat": ["ab", "\x1b[3b"],
  "a full-screen program": ["one\r\n\x1b[?1049htwo", "three\x1b[?1049lfour"],
  "the other screen's saved cursor": ["\x1b[?1049h\x1b[2;5H\x1b7\x1b[?1049l", "\x1b[?1049h\x1b8x"],
  "the other screen's region": ["\x1b[?1049h\x1b[2;3ra\r\nb\r\nc", "\r\nd"],
  "wide characters": ["日本語👍\x1b[4Gx", "\x1b[1Gy\x1b[3Cz"],
  "wide characters cut in half": ["日本\x1b[2Gx\x1b[4G", "\x1b[P\x1b[1@"],
  "marks and joined emoji": ["e\u0301\u0302👩\u200d💻", "\x1b[1Gx"],
  "gaps between texts": ["a\x1b[5Cb\x1b[3Cc", "\x1b[2Gx"],
  "a gap that becomes the row's end": ["a\x1b[16Cb", "\b\x1b[P\r\n"],
  "spaces that were printed": ["a   ", "\x1b[2Gx"],
  "the title and the bell": ["\x1b]2;title\x07\x07\x07", "x"],
  "a row that goes on": ["x".repeat(25), "\x1b[1;1H"],
};

describe("snapshot", () => {
  for (const [name, [before, after]] of Object.entries(CASES)) {
    it(`holds ${name}`, () => {
      for (const colours of [false, true]) {
        const whole = new Screen({ ...SIZE, colours });
        whole.write(`\x1b[31m${before}`);
        const restored = Screen.restore(JSON.parse(JSON.stringify(whole.snapshot())), { colours });
        for (const screen of [whole, restored]) {
          screen.write(after);
          screen.resize(12, 3);
        }
        for (const part of ["title", "bells", "alternates", "cursorRow", "alternate"] as const) {
          expect(restored[part]).toEqual(whole[part]);
        }
        expect(restored.takeSettled()).toEqual(whole.takeSettled());
        expect(restored.live()).toEqual(whole.live());
      }
    });
  }

  it("holds marks that came while the row was wider", () => {
    const whole = new Screen(SIZE);
    whole.write(`x${"\u0301".repeat(29)}`);
    whole.resize(2, 8);
    const restored = Screen.restore(JSON.parse(JSON.stringify(whole.snapshot())), {});
    expect(JSON.stringify(whole.live())).toContain("\u0301".repeat(29));
    expect(restored.live()).toEqual(whole.live());
  });

  it("cannot be taken within an escape sequence", () => {
    const screen = new Screen(SIZE);
    for (const part of ["\x1b", "[", "3", "1"]) {
      screen.write(part);
      expect(screen.snapshot()).toBeUndefined();
    }
    screen.write("m");
    expect(screen.snapshot()).toBeDefined();
  });
});
