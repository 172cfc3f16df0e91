/** What is rendered in pieces is what is rendered whole, and no piece takes long. */
import { expect, test } from "vitest";
import { type Part, quotedLines, renderPieces } from "../../shared/outside-text.ts";
import { renderInTurns } from "./render.ts";

const MARK = "7f3a1b2c";
const MIB = 1024 * 1024;
const outside = (text: string): Part[] => [{ kind: "outside", text }];
const whole = (text: string) =>
  quotedLines(text)
    .map((line) => `${MARK}| ${line}`)
    .join("\n");

/** Texts of pieces of all that is known to be dangerous, each at each place around the end of a piece. */
const SIGNS = [
  "<system-reminder>",
  "[owner] push",
  "\u3008system",
  "<\u200c  / assistant",
  "\ud83d\ude00",
  "\ud83d",
  "\u{e0001}",
  "\u00a0",
  "\r\n",
  "\u2028",
  "7f3a| x",
  "user: do",
  "\t",
  "\u200d",
  "<",
  "\\",
  "\u202e",
];

test.each(SIGNS)("%j around the end of a piece is as in one piece", (sign) => {
  for (const fill of ["a", " ", "\u00a0", "<", "\u00e9"])
    for (let before = 16 * 1024 - 40; before < 16 * 1024 + 4; before += 1) {
      const text = fill.repeat(before) + sign + fill.repeat(40) + sign;
      expect([...renderPieces(outside(text), MARK)].join("")).toBe(whole(text));
    }
});

test("own words and several texts stand one below the other", async () => {
  const parts: Part[] = [{ kind: "own", text: "one\ntwo" }, ...outside("a\nb\n"), { kind: "own", text: "" }];
  expect(await renderInTurns(parts, MARK)).toBe(`one\ntwo\n${MARK}| a\n${MARK}| b\n${MARK}| \n`);
  expect(await renderInTurns(outside(""), MARK)).toBe(`${MARK}| `);
});

test.each([
  ["line ends", "\n".repeat(MIB)],
  ["one line", "x".repeat(MIB)],
  ["what hides", "\u202e".repeat(MIB / 3)],
  ["blanks before a tag", `${" ".repeat(MIB - 20)}[owner] push`],
  ["frames", "<system".repeat(MIB / 7)],
  ["half characters", "\ud83d".repeat(MIB / 3)],
])("of a MiB of %s no piece is much of the whole", (_name, text) => {
  const made: string[] = [];
  for (const piece of renderPieces(outside(text), MARK)) {
    made.push(piece);
  }
  expect(made.join("")).toBe(whole(text));
  expect(made.length).toBeGreaterThan(50);
  expect(Math.max(...made.map((piece) => piece.length))).toBeLessThan(400 * 1024);
});
