/** What the documents promise is tested where they say so. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { MIN_VERSION } from "../../shared/agent/engines/claude.ts";
import { heldIn, heldPromises, promiseDocs, promiseIds, rowsOf } from "../support/promise-docs.ts";

const read = (file: string) => readFileSync(new URL(`../../${file}`, import.meta.url), "utf8");

test("each promise has a test that names it, and no test names another", () => {
  const ids = promiseIds();
  expect(new Set(ids).size).toBe(ids.length);
  expect([...new Set(heldPromises().map(({ id }) => id))].sort()).toEqual([...ids].sort());
});

test("docs/promises.md is what the tests say; `npm run docs` writes it", async () => {
  await expect(promiseDocs()).toMatchFileSnapshot("../../docs/promises.md");
});

test("a comment without a test below it is refused", () => {
  const text = '// Promise: S1, R2\ntest("it holds", () => undefined);\n';
  expect(heldIn("a.test.ts", text)).toEqual([
    { id: "S1", file: "a.test.ts", test: "it holds" },
    { id: "R2", file: "a.test.ts", test: "it holds" },
  ]);
  expect(() => heldIn("a.test.ts", `${text}// Promise: S3\nconst x = 1;\n`)).toThrow(/no test below/);
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
