/** What the documents promise is tested where they say so. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { MIN_VERSION } from "../../shared/agent/install.ts";

const read = (file: string) => readFileSync(new URL(`../../${file}`, import.meta.url), "utf8");

/** The cells of a table's rows, without its head. */
function rowsOf(document: string, head: string): string[][] {
  const lines = read(document).split("\n");
  const start = lines.findIndex((line) => line.startsWith(head));
  if (start < 0) throw new Error(`${document} has no table that begins with ${head}`);
  const rest = lines.slice(start + 2);
  const rows = rest.slice(
    0,
    rest.findIndex((line) => !line.startsWith("|")),
  );
  return rows.map((row) => row.split(" | ").map((cell) => cell.replace(/^\| | \|$/g, "").trim()));
}

/** `file` "name", "name", `file` "name" … */
function namedTests(cell: string): { file: string; name: string }[] {
  let file = "";
  return [...cell.matchAll(/`([^`]+\.test\.ts)`|"([^"]+)"/g)].flatMap(([, path, name]) => {
    if (path !== undefined) file = path;
    return name === undefined ? [] : [{ file, name }];
  });
}

const promises = rowsOf("docs/security.md", "| promise |");
const troubles = rowsOf("docs/testing.md", "| what | tested in |");

test.each([...promises, ...troubles])("%s", (_promise, tested = "") => {
  const tests = namedTests(tested);
  expect(tests.length).toBeGreaterThan(0);
  for (const { file, name } of tests) {
    expect(existsSync(new URL(`../../${file}`, import.meta.url)), file).toBe(true);
    // The quoted names of tests: their own source, where some are put together.
    expect(read(file), `a test in ${file}`).toContain(name);
  }
});

test("every row of what can go wrong has its tests", () => {
  const rows = rowsOf("docs/reliability.md", "| what | what happens |").map(([what]) => what);
  expect(troubles.map(([what]) => what)).toEqual(rows);
});

test("the index of test/support names each of its files, and no other", () => {
  const files = readdirSync(new URL("../support", import.meta.url)).filter((name) => name.endsWith(".ts"));
  const named = [...read("test/support/README.md").matchAll(/`([\w-]+\.ts)`/g)].map(([, name]) => name);
  expect([...new Set(named)].sort()).toEqual(files.sort());
});

test.each(["README.md", "Dockerfile.vm", "fly.toml"])(
  "%s installs a coding agent that the runner takes",
  (file) => {
    const versions = [...read(file).matchAll(/@anthropic-ai\/claude-code@([\d.]+\d)/g)].map(
      ([, version]) => version,
    );
    expect(versions.length).toBeGreaterThan(0);
    expect(new Set(versions)).toEqual(new Set([MIN_VERSION]));
  },
);

test.each(rowsOf("docs/glossary.md", "| word |"))(
  "the word %s is used in the file that it names",
  (word, _what, cell = "") => {
    const [, file = ""] = /^`(.+)`$/.exec(cell) ?? [];
    const stem = word.replace(/ \(.*/, "").replace(/e?d?$/, "").replace(" ", "[ _-]?");
    expect(existsSync(new URL(`../../${file}`, import.meta.url)), file).toBe(true);
    expect(read(file), file).toMatch(new RegExp(stem, "i"));
  },
);
