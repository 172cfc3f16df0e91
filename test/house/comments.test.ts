/** A comment is a sentence, or a noun with what is said of it: it does not open with a riddle. */
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));
const SIDES = ["agent", "browser", "cli", "follow", "relay", "shared", "vm"];
const RIDDLE = /^(Of|So long|So many|Whoever)\b/;
/** These begin too many comments still. Make the number smaller when you mend some; never make it larger. */
const VAGUE = /^(What|As)\b/;
const MOST_VAGUE: Readonly<Record<string, number>> = {
  agent: 140,
  browser: 8,
  cli: 52,
  follow: 2,
  relay: 255,
  shared: 245,
  vm: 300,
};

/** The beginnings of the comments in a file, each with its line. */
function beginningsIn(text: string): { line: number; words: string }[] {
  const lines = text.split("\n");
  return lines.flatMap((line, at) => {
    const block = /^\s*\/\*\*?(?:\s+(.*))?$/.exec(line);
    const words = block
      ? block[1] || (lines[at + 1] ?? "").replace(/^\s*\*\s*/, "")
      : restOfLine(line, lines[at - 1]);
    return words === undefined ? [] : [{ line: at + 1, words }];
  });
}

/** Undefined if it goes on with the comment of the line above. */
function restOfLine(line: string, above = ""): string | undefined {
  if (/^\s*\/\/ /.test(line) && /^\s*\/\/ /.test(above)) return undefined;
  return /(?:^|\s)\/\/ (.*)$/.exec(line)?.[1];
}

function find(side: string, begins: RegExp): string[] {
  const files = readdirSync(`${root}/${side}`, { recursive: true, encoding: "utf8" });
  return files
    .filter((path) => path.endsWith(".ts") && !/\/bundle\//.test(path))
    .flatMap((path) =>
      beginningsIn(readFileSync(`${root}/${side}/${path}`, "utf8"))
        .filter(({ words }) => begins.test(words))
        .map(({ line, words }) => `${side}/${path}:${line}: ${words}`),
    );
}

test("a riddle is found where a comment begins, and only there", () => {
  const text = [
    "/** Of a thread: its log. */",
    "/**",
    " * Whoever reads it.",
    " * So many is fine here.",
    " */",
    "const a = 1; // So long it waits",
    "// The reader is slow.",
    "// Of course it goes on with the line above.",
    "/** Often. */",
  ].join("\n");
  const found = beginningsIn(text).filter(({ words }) => RIDDLE.test(words));
  expect(found.map(({ line }) => line)).toEqual([1, 2, 6]);
});

test.each(SIDES)("%s/: a comment names its subject first", (side) => {
  expect(
    find(side, RIDDLE),
    "Begin with the subject: not `Of the thread.` but `The id of the thread.`, not `So many wait.` but `How many wait.`",
  ).toEqual([]);
  const vague = find(side, VAGUE);
  const most = MOST_VAGUE[side] ?? 0;
  expect(
    vague.length,
    `Of ${side}/'s comments more than ${most} begin with What or As. Name the subject of the new one`,
  ).toBeLessThanOrEqual(most);
});
