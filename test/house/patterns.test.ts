/**
 * Every pattern of the house takes linear time: most meet what an agent, a program or a person wrote, and one that is
 * quadratic holds up a whole process.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { expect, test } from "vitest";
import { findFastGrowth, type GrowingText } from "../support/growth.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const SIDES = ["shared", "vm", "relay", "agent", "follow", "browser", "cli", "local-discord"];

interface Pattern {
  place: string;
  source: string;
}

/** Patterns that never meet a long text, by their text. */
const SHORT: Record<string, string> = {
  "/\\B(?=(\\d{3})+$)/g": "a number of JavaScript's, which has at most 22 digits",
};

/** Files that put patterns together: of constants (the outside text's are anchored or bounded), of the bot's own id, or of rules in the demo agent's settings. */
const MADE = [
  "shared/clean-text.ts",
  "shared/key-name.ts",
  "shared/outside-text.ts",
  "shared/outside-text.ts",
  "shared/outside-text.ts",
  "shared/outside-text.ts",
  "shared/jobs/job.ts",
  "vm/threads/names.ts",
  "relay/discord/channel-message.ts",
  "relay/discord/channel-message.ts",
  "agent/engines/demo/peer.ts",
  "agent/engines/demo/permissions.ts",
];

function findPatterns(file: string): { written: Pattern[]; made: Pattern[] } {
  const source = ts.createSourceFile(
    file,
    readFileSync(join(root, file), "utf8"),
    ts.ScriptTarget.Latest,
    true,
  );
  const found: { written: Pattern[]; made: Pattern[] } = { written: [], made: [] };
  const visit = (node: ts.Node) => {
    const place = `${file}:${source.getLineAndCharacterOfPosition(node.getStart()).line + 1}`;
    if (ts.isRegularExpressionLiteral(node)) found.written.push({ place, source: node.text });
    if (ts.isNewExpression(node) && node.expression.getText() === "RegExp")
      found.made.push({ place, source: node.arguments?.[0]?.getText() ?? "" });
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

const FOUND = SIDES.flatMap((side) =>
  readdirSync(join(root, side), { recursive: true, encoding: "utf8" }).map((name) => join(side, name)),
)
  .filter((file) => /(?<!\.test)\.ts$/.test(file) && !/\/(?:testing|bundle)\//.test(file))
  .map(findPatterns);

function compile(source: string): RegExp {
  const [, body = "", flags = ""] = /^\/([\s\S]*)\/([a-z]*)$/.exec(source) ?? [];
  return new RegExp(body, flags.includes("g") ? flags : `${flags}g`);
}

/** Characters and words of the pattern itself, and some that its classes may mean. */
function lettersOf(source: string): string[] {
  const plain = source
    .slice(1, source.lastIndexOf("/"))
    .replace(/\\u\{?([0-9a-fA-F]{4,6})\}?|\\x([0-9a-f]{2})/g, (_, long, short) =>
      String.fromCodePoint(Number.parseInt(long ?? short, 16)),
    )
    .replace(/\\([nrt])/g, (_, name) => ({ n: "\n", r: "\r", t: "\t" })[name as "n" | "r" | "t"])
    .replace(/\\[pP]\{[^}]*\}|\\[bBdDwWsS]/g, "")
    .replace(/\\(.)/g, "$1");
  const blanks = /\\s|\[\^/.test(source) ? ["\n", "\t"] : [];
  return [
    ...new Set(["a", "0", " ", ...blanks, ...(plain.match(/[A-Za-z]{2,}/g) ?? []).slice(0, 4), ...plain]),
  ].slice(0, 14);
}

/** What makes a pattern try again and again: a run of something that it may repeat, behind a beginning, before no end. */
function textsFor(source: string): GrowingText[] {
  const letters = lettersOf(source);
  const starts = ["", ...letters.slice(0, 4)];
  return letters.flatMap((letter) =>
    starts.flatMap((start) =>
      [
        [start, letter, "\0"],
        [start, letter, start === "\n" ? "!" : "\n"],
        ["", start + letter, "x"],
      ].map(([before = "", part = "", after = ""]) => ({
        name: [before, `n × ${JSON.stringify(part)}`, JSON.stringify(after)].join(" + "),
        make: (count: number) => before + part.repeat(count) + after,
      })),
    ),
  );
}

function findSlow({ place, source }: Pattern): string | undefined {
  const pattern = compile(source);
  const all = (text: string) => {
    for (const match of text.matchAll(pattern)) if (match.index > text.length) return;
  };
  for (const text of textsFor(source)) {
    const growth = findFastGrowth(text, all, [800, 8_000]);
    if (growth !== undefined) return `${place} ${source}: ${growth}`;
  }
  return undefined;
}

const WRITTEN = FOUND.flatMap(({ written }) => written);

test("there are patterns to look at", () => {
  expect(WRITTEN.length).toBeGreaterThan(300);
});

test("none takes more than linear time, whatever it meets", () => {
  const once = [...new Map(WRITTEN.map((pattern) => [pattern.source, pattern])).values()];
  expect(
    once.filter(({ source }) => SHORT[source] === undefined).flatMap((pattern) => findSlow(pattern) ?? []),
  ).toEqual([]);
});

test("a pattern that is put together at run time is one of these, and linear by what its file says", () => {
  expect(FOUND.flatMap(({ made }) => made.map(({ place }) => place.replace(/:\d+$/, "")))).toEqual(MADE);
});
