/** The fullest screens: 500 × 200, and each cell has colours and a look of its own. */
import type { ScreenReply } from "../../../shared/screen-api.ts";

const COLS = 500;
const ROWS = 200;
const E = "\x1b[";

/** What stands in them, by name: the character with this number, and how many columns it takes. */
const TEXTS: Record<string, { text: (index: number) => string; width: number }> = {
  letters: { text: (index) => String.fromCharCode(33 + (index % 90)), width: 1 },
  dots: { text: (index) => String.fromCharCode(0x2800 + (index % 256)), width: 1 },
  everything: { text: (index) => String.fromCodePoint(0xa1 + (index % 0x2fff)), width: 1 },
  marks: {
    text: (index) => `${String.fromCharCode(97 + (index % 26))}${"\u0301".repeat(index % 20)}`,
    width: 1,
  },
  emoji: { text: (index) => String.fromCodePoint(0x1f300 + (index % 700)), width: 2 },
  // Maybe of a font of the system's.
  chinese: { text: (index) => String.fromCodePoint(0x4e00 + (index % 700)), width: 2 },
  // No font on most machines has these.
  unknown: { text: (index) => String.fromCodePoint(0x2a700 + (index % 700)), width: 2 },
  // Letters, signs, symbols and emoji that the fonts have.
  mixed: {
    text: (index) =>
      index % 4 === 0
        ? String.fromCodePoint(0x1f300 + (index % 700))
        : String.fromCodePoint((MIXED[index % 4] ?? 0) + (index % 250)).padEnd(2),
    width: 2,
  },
};

const MIXED = [0x1f300, 0xa1, 0x390, 0x2190];

export function fullestScreens(): [name: string, screen: ScreenReply][] {
  return Object.entries(TEXTS).map(([name, { text, width }]) => {
    const colour = (of: number) => `${(of * 7) % 256};${(of * 31) % 256};${(of * 101) % 256}`;
    const cell = (index: number) =>
      `${E}0;${[1, 3, 4, 9][index % 4]};38;2;${colour(index)};48;2;${colour(index + 77)}m${text(index)}`;
    const row = (y: number) => Array.from({ length: COLS / width }, (_, x) => cell(y * 503 + x)).join("");
    const rows = Array.from({ length: ROWS }, (_, y) => row(y)).join("\n");
    return [
      name,
      {
        screen: rows,
        cols: COLS,
        rows: ROWS,
        cursor: { x: 0, y: 0 },
        alternate: false,
        title: "the fullest",
      },
    ];
  });
}
