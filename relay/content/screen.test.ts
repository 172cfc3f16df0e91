import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cpuMsOf } from "../../test/support/measure.ts";
import { type Line, Screen } from "./screen.ts";
import { cut, output, places, RUNS, size, writes } from "./testing/programs.ts";

function textOf(lines: readonly Line[]): string[] {
  return lines.map((line) => line.text);
}

/** Everything a screen shows and has settled. */
function read(screen: Screen, settled: readonly Line[] = []): unknown {
  return {
    settled: [...settled, ...screen.takeSettled()],
    live: screen.live(),
    alternate: screen.alternate,
    cursor: screen.cursorRow,
    title: screen.title,
    bells: screen.bells,
    alternates: screen.alternates,
  };
}

function screenOf(text: string, cols = 20, rows = 4): Screen {
  const screen = new Screen({ cols, rows });
  screen.write(text);
  return screen;
}

describe("Screen", () => {
  it("uses the rows of screens that are gone, and shows nothing of them and of each other", () => {
    const screens = [screenOf(""), screenOf(""), screenOf("", 30, 3)];
    const full = "e\u0301\x1b[41m日".repeat(30);
    for (const reset of ["\x1b[?1047l", "\x1bc"]) {
      for (const screen of screens) screen.write(`\x1b[?1047h${full}${reset}`);
      for (const [i, screen] of screens.entries()) screen.write(`\x1b[?1047h\x1b[2;1Hscreen ${i}`);
      expect(screens.map((screen) => textOf(screen.alternate?.lines ?? []))).toEqual([
        ["", "screen 0"],
        ["", "screen 1"],
        ["", "screen 2"],
      ]);
      for (const [i, screen] of screens.entries()) screen.write(`\x1bc\x1b[2;1Hnormal ${i}`);
      expect(screens.map((screen) => textOf(screen.live()))).toEqual([
        ["", "normal 0"],
        ["", "normal 1"],
        ["", "normal 2"],
      ]);
    }
  });

  it("settles each row once as it scrolls away", () => {
    const screen = screenOf("1\r\n2\r\n3\r\n4\r\n5\r\n6");
    expect(textOf(screen.takeSettled())).toEqual(["1", "2"]);
    expect(screen.takeSettled()).toEqual([]);
    expect(textOf(screen.live())).toEqual(["3", "4", "5", "6"]);
  });

  it("loses no row of a megabyte of newlines", () => {
    const screen = new Screen({ cols: 80, rows: 24 });
    screen.write("\n".repeat(1_000_000));
    expect(screen.takeSettled()).toHaveLength(1_000_000 - 23);
  });

  it("marks rows that go on from the row above", () => {
    expect(screenOf("abcdefghij", 4).live()).toEqual([
      { text: "abcd", wrapped: false },
      { text: "efgh", wrapped: true },
      { text: "ij", wrapped: true },
    ]);
  });

  it("keeps what a program clears: ED 2, clear, RIS, ED 3", () => {
    for (const clear of ["\x1b[2J", "\x1b[H\x1b[J", "\x1bc", "\x1b[H\x1b[2J\x1b[3J"]) {
      const screen = screenOf(`one\r\n\r\nthree${clear}\x1b[Hnew`);
      expect(textOf(screen.takeSettled())).toEqual(["one", "", "three"]);
      expect(textOf(screen.live())).toEqual(["new"]);
    }
  });

  it("keeps what leaves a scroll region, by newline and by SU", () => {
    const screen = screenOf("\x1b[1;3rone\r\ntwo\r\nthree\r\nfour\x1b[S");
    expect(textOf(screen.takeSettled())).toEqual(["one", "two"]);
  });

  it("shows a full-screen program apart, and the screen behind it unchanged", () => {
    const screen = screenOf("log\r\n\x1b[?1049h\x1b[H~ vim\r\n\r\n\r\n\r\n\r\n\r\nend");
    expect(screen.takeSettled()).toEqual([]);
    expect(textOf(screen.live())).toEqual(["log"]);
    expect(screen.alternate?.lines.at(-1)?.text).toBe("end");
    expect(screen.alternate?.cursor).toEqual({ x: 3, y: 3 });
    screen.write("\x1b[?1049lnext");
    expect(screen.alternate).toBeUndefined();
    expect(textOf(screen.live())).toEqual(["log", "next"]);
    expect(screen.alternates).toBe(1);
  });

  it("ignores strings for the terminal, whatever is in them", () => {
    const screen = screenOf("a\x1bkzsh ünï\x1b\\b\x1b_hidden\x1b\\c\x1b]2;title\x07d\u009b5Ae", 40);
    expect(textOf(screen.live())).toEqual(["abcd5Ae"]);
    expect(screen.title).toBe("title");
  });

  it("takes no time for absurd counts", async () => {
    const cpuMs = await cpuMsOf(() => {
      const screen = new Screen({ cols: 80, rows: 24 });
      for (const final of "@LMPSTXZIbABCDEFGade`") screen.write(`x\x1b[2147483647${final}`);
      for (const final of [" @", " A", "'}", "'~"]) screen.write(`x\x1b[2147483647${final}`);
    });
    expect(cpuMs).toBeLessThan(1000);
  });

  it("bounds marks stacked on one cell", () => {
    expect(screenOf(`a${"\u0301".repeat(10_000)}`).live()[0]?.text.length).toBeLessThan(40);
  });

  it("wraps lines anew when its size changes, and loses none", () => {
    const screen = screenOf("abcdefgh\r\n1\r\n2\r\n3", 8);
    screen.resize(4, 3);
    expect(textOf([...screen.takeSettled(), ...screen.live()])).toEqual(["abcd", "efgh", "1", "2", "3"]);
    expect(screen.live()).toHaveLength(3);
  });

  it("cuts a full-screen program's picture to a narrower screen", () => {
    const screen = screenOf("\x1b[?1049h\x1b[Habcdefgh", 8);
    screen.resize(4, 4);
    screen.resize(8, 4);
    expect(textOf(screen.alternate?.lines ?? [])).toEqual(["abcd"]);
  });

  it("shows wide characters at the edge alike, however the output is cut", () => {
    const pieces = new Screen({ cols: 2, rows: 2 });
    for (const piece of ["\x1b[?7l", "日本語", "5A"]) pieces.write(piece);
    expect(pieces.live()).toEqual(screenOf("\x1b[?7l日本語5A", 2, 2).live());
  });

  it("takes no row for blank that holds a mark alone", () => {
    const pieces = new Screen({ cols: 3, rows: 2 });
    for (const piece of ["\n\u0301", "\x1b[?1049l\n\r\n\r\n\r\n"]) pieces.write(piece);
    expect(textOf(pieces.takeSettled())).toEqual(["", "\u0301", ""]);
    const erased = screenOf("\n\u0301\x1b[2J", 3, 2);
    expect(textOf(erased.takeSettled())).toEqual(["", "\u0301"]);
    expect(screenOf("e\u0301\x1b[1;4H\u0301").live()[0]?.text).toBe("e\u0301  \u0301");
  });

  it("gives the same however the output is cut", () => {
    fc.assert(
      fc.property(output, size, places, (text, { cols, rows }, at) => {
        const whole = screenOf(text, cols, rows);
        const pieces = new Screen({ cols, rows });
        for (const piece of cut(text, at)) pieces.write(piece);
        expect(read(pieces)).toEqual(read(whole));
      }),
      RUNS,
    );
  });

  it("goes on from a snapshot as if it had never stopped", () => {
    fc.assert(
      fc.property(output, size, places, fc.boolean(), (text, { cols, rows }, at, colours) => {
        const whole = new Screen({ cols, rows, colours });
        whole.write(text);
        let screen = new Screen({ cols, rows, colours });
        const settled: Line[] = [];
        for (const piece of cut(text, at)) {
          screen.write(piece);
          const snapshot = screen.snapshot();
          if (snapshot === undefined) continue;
          settled.push(...screen.takeSettled());
          screen = Screen.restore(JSON.parse(JSON.stringify(snapshot)), { colours });
        }
        expect(read(screen, settled)).toEqual(read(whole));
      }),
      RUNS,
    );
  });

  it("goes on from a snapshot through a resize", () => {
    fc.assert(
      fc.property(output, output, size, size, (before, after, from, to) => {
        const whole = screenOf(before, from.cols, from.rows);
        whole.resize(to.rows * 2, to.cols);
        const snapshot = whole.snapshot();
        fc.pre(snapshot !== undefined);
        const settled = whole.takeSettled();
        const restored = Screen.restore(JSON.parse(JSON.stringify(snapshot)));
        for (const screen of [whole, restored]) {
          screen.resize(to.cols, to.rows);
          screen.write(after);
        }
        expect(read(restored, settled)).toEqual(read(whole, settled));
      }),
      RUNS,
    );
  });

  it("settles plain output as the emulator would", () => {
    fc.assert(
      fc.property(writes, size, (parts, { cols, rows }) => {
        // Colours switch the short cut off.
        const slow = new Screen({ cols, rows, colours: true });
        slow.write(parts.join(""));
        const plain = (lines: readonly Line[]): unknown =>
          lines.map(({ text, wrapped }) => ({ text, wrapped }));
        const fast = new Screen({ cols, rows });
        for (const part of parts) fast.write(part);
        expect(plain(fast.takeSettled())).toEqual(plain(slow.takeSettled()));
        expect(plain(fast.live())).toEqual(plain(slow.live()));
      }),
      RUNS,
    );
  });
});
