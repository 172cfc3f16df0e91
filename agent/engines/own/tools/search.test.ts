import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, expect, test } from "vitest";
import { glob } from "./glob.ts";
import { compileGlob } from "./glob-match.ts";
import { grep } from "./grep.ts";
import { ls } from "./ls.ts";
import { findRipgrep } from "./ripgrep.ts";
import { makeWorld, type World } from "./testing/world.ts";

let world: World;
beforeEach(() => {
  world = makeWorld();
});
afterEach(() => world[Symbol.dispose]());

function put(files: Record<string, string>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(world.dir, name)), { recursive: true });
    writeFileSync(join(world.dir, name), text);
  }
}
const find = async (pattern: string, more: object = {}) =>
  (await world.run(glob, { pattern, ...more })).text.split("\n").sort();
const search = async (pattern: string, more: object = {}) =>
  (await world.run(grep, { pattern, ...more })).text;
const list = async (path?: string) => (await world.run(ls, path === undefined ? {} : { path })).text;

test("glob obeys .gitignore, also if the pattern names what is ignored, and shows the newest first", async () => {
  put({
    ".gitignore": "*.log\nout/\n!keep.log\n",
    "a.log": "",
    "keep.log": "",
    "out/b.ts": "",
    "src/c.ts": "",
    ".hidden/d.ts": "",
    ".git/e.ts": "",
  });
  expect(await find("*.log")).toEqual(["keep.log"]);
  expect(await find("**/*.ts")).toEqual([".hidden/d.ts", "src/c.ts"]);
  expect(await find("out/*")).toEqual(["No file fits."]);
  expect(await find("src/*.{js,ts}")).toEqual(["src/c.ts"]);
  expect(await find(`${world.dir}/src/**`)).toEqual(["src/c.ts"]);
  expect(await find("*.ts", { path: "src" })).toEqual(["src/c.ts"]);
  put({ "src/old.ts": "", "src/new.ts": "" });
  utimesSync(join(world.dir, "src/old.ts"), 1, 1);
  utimesSync(join(world.dir, "src/new.ts"), 2e9, 2e9);
  const { text } = await world.run(glob, { pattern: "src/*" });
  expect([text.split("\n").at(0), text.split("\n").at(-1)]).toEqual(["src/new.ts", "src/old.ts"]);
  expect((await world.run(glob, { pattern: "*", path: "none" })).text).toBe("none does not exist.");
});

test("a .gitignore above what is searched counts in its repository, and nowhere else", async () => {
  put({ ".gitignore": "*", "sub/a.ts": "x" });
  expect(await find("*.ts", { path: "sub" })).toEqual(["sub/a.ts"]);
  mkdirSync(join(world.dir, ".git"));
  expect(await find("*.ts", { path: "sub" })).toEqual(["No file fits."]);
});

test("grep shows lines with their places, with lines around them, in files that a glob chooses", async () => {
  put({
    "a.ts": "one\nneedle 1\nthree\n",
    "b/c.md": "needle 2\r\n",
    "b/d.ts": "NEEDLE 3\n",
    ".gitignore": "x.ts\n",
    "x.ts": "needle 4",
  });
  expect(await search("needle")).toBe("a.ts:2: needle 1\nb/c.md:1: needle 2");
  expect(await search("needle", { ignore_case: true, glob: "*.ts" })).toBe(
    "a.ts:2: needle 1\nb/d.ts:1: NEEDLE 3",
  );
  expect(await search("needle", { glob: "x.ts" })).toBe("Nothing fits.");
  expect(await search("needle \\d", { path: "a.ts", context: 1 })).toBe(
    "a.ts-1- one\na.ts:2: needle 1\na.ts-3- three",
  );
  expect(await search("needle", { files_only: true })).toBe("a.ts\nb/c.md");
  expect(await search("needle", { path: "b" })).toBe("b/c.md:1: needle 2");
  expect(await search("x.ts", { path: "." })).toBe(".gitignore:1: x.ts");
  expect(await search("-needle")).toBe("Nothing fits.");
  expect(await search("a(")).toMatch(/^ripgrep says: .*unclosed group/s);
  expect(await search("x", { path: "none" })).toBe("none does not exist.");
});

test("what looks like a secret is not searched, nor what is out of reach", async () => {
  put({ ".env": "KEY=walnut", "sub/server.pem": "walnut", plain: "walnut", "state/token": "walnut" });
  writeFileSync(join(world.outside, "other"), "walnut");
  symlinkSync(world.outside, join(world.dir, "way"));
  symlinkSync(join(world.outside, "other"), join(world.dir, "link"));
  const closed = { closed: [join(world.dir, "state")] };
  for (const more of [{}, { glob: "**" }, { files_only: true }, { glob: "*", files_only: true }]) {
    const { text } = await world.run(grep, { pattern: "walnut", ...more }, closed);
    expect(text.replace(":1: walnut", "")).toBe("plain");
  }
  const names = (await world.run(glob, { pattern: "*" }, closed)).text;
  expect(names).toBe("plain");
  for (const path of ["way", "link", "../outside", "/etc", "state"])
    for (const tool of [grep, glob])
      expect((await world.run(tool, { pattern: "walnut", path }, closed)).text, path).toMatch(
        /outside of this|closed to agents/,
      );
  expect(await search("walnut", { path: ".env" })).toBe(".env:1: KEY=walnut");
  for (const path of ["way", "/etc", "state"])
    expect((await world.run(ls, { path }, closed)).text).toMatch(/outside of this|closed to agents/);
});

test("names that would break a line are quoted, and no name is taken for an option", async () => {
  put({
    "a\nb": "needle",
    "c\u001b[31m": "needle",
    "-e": "needle",
    "d\u202ee": "needle",
    'quo"te': "needle",
  });
  const names = ['"a\\nb"', '"c\\u001b[31m"', "-e", '"d\\u202ee"', '"quo\\"te"'].sort();
  expect((await list()).split("\n")).toEqual(names);
  expect(await find("*")).toEqual(names);
  for (const more of [{}, { glob: "*" }]) {
    const found = await search("needle", more);
    expect(found.split("\n")).toHaveLength(names.length);
    for (const name of names) expect(found).toContain(`${name}:1: needle`);
  }
  expect(await search("needle", { path: "-e" })).toBe("-e:1: needle");
  expect(JSON.parse(names[0] ?? "")).toBe("a\nb");
});

test("100,000 matches, long lines and binary files are bounded", async () => {
  put({ many: "needle\n".repeat(100_000), long: `${"needle".repeat(100_000)}\n`, binary: "needle\0needle" });
  const text = await search("needle");
  expect(text.length).toBeLessThan(34_000);
  expect(text).toContain("long:1: needle");
  expect(text).toMatch(/\(There is more: make the search narrower\.\)$/);
  expect(await search("needle", { path: "binary" })).toBe("Nothing fits.");
  expect(await search("needle", { path: "binary", files_only: true })).toMatch(/^binary$|^Nothing fits/);
  execFileSync("sh", ["-c", "mkdir d && cd d && seq 1 1500 | xargs touch"], { cwd: world.dir });
  expect(await list("d")).toMatch(/^1\n10\n[\s\S]*\n\n\(500 more\. Use glob\.\)$/);
  const files = await find("d/*");
  expect(files).toHaveLength(1_002);
  expect(files).toContain("(500 more files fit: make the pattern narrower.)");
});

test("ls tells folders and links, and what is no directory", async () => {
  put({ "b.txt": "", "a/x": "", ".dot": "" });
  symlinkSync("a", join(world.dir, "link"));
  execFileSync("mkfifo", [join(world.dir, "fifo")]);
  expect(await list()).toBe(".dot\na/\nb.txt\nfifo (no file)\nlink -> a");
  expect(await list("link")).toBe("x");
  mkdirSync(join(world.dir, "empty"));
  expect(await list("empty")).toBe("empty is empty.");
  expect(await list("b.txt")).toBe("b.txt is no directory: read it with read.");
  expect(await list("none")).toBe("none does not exist.");
});

test("an interrupt ends a search", async () => {
  put({ a: "x" });
  const stop = new AbortController();
  const searching = world.run(grep, { pattern: "x" }, { signal: stop.signal });
  stop.abort();
  await expect(searching).rejects.toThrow(/abort/);
});

test("a pattern fits what it fits for ripgrep", async () => {
  const names = ["a", "b.ts", "sub/a", "sub/b.ts", "sub/deep/b.ts", "sub/.x", "[a]", "a b", "é.ts"];
  put(Object.fromEntries(names.map((name) => [name, ""])));
  const rg = findRipgrep();
  const asRipgrep = (pattern: string) => {
    try {
      const out = execFileSync(rg, ["--files", "--hidden", "--no-ignore", "--glob", pattern, "./"], {
        cwd: world.dir,
        stdio: ["ignore", "pipe", "ignore"],
      });
      return out
        .toString()
        .trim()
        .split("\n")
        .map((name) => name.slice(2))
        .sort();
    } catch {
      return [];
    }
  };
  for (const pattern of [
    "*",
    "*.ts",
    "**/*.ts",
    "sub/*",
    "sub/**",
    "sub/**/b.ts",
    "**/deep/*",
    "?",
    "[ab]",
    "[!a]",
    "[a-c].ts",
    "{a,b.ts}",
    "sub/{a,deep/b.ts}",
    "\\[a\\]",
    "a\\ b",
    "/a",
    "s*/b.ts",
    "**",
    "é.*",
    "*b*",
    "{a,{b,c}.ts}",
  ]) {
    const mine = names.filter(compileGlob(pattern)).sort();
    expect({ pattern, mine }).toEqual({ pattern, mine: asRipgrep(pattern) });
  }
});

test("a hostile pattern takes no longer than another", () => {
  const startedMs = performance.now();
  expect(compileGlob(`${"*a".repeat(400)}b`)("a".repeat(4_000))).toBe(false);
  expect(compileGlob(`${"**/a/".repeat(150)}b`)("a/".repeat(2_000))).toBe(false);
  expect(performance.now() - startedMs).toBeLessThan(2_000);
  expect(() => compileGlob("{a,b}".repeat(20))).toThrow("too many alternatives");
  expect(() => compileGlob("x".repeat(2_000))).toThrow("too long");
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(..."{},[]*?\\/!a-b"), maxLength: 30 }), (pattern) => {
      try {
        compileGlob(pattern)("a/b");
      } catch (error) {
        expect(String(error)).toContain("too many");
      }
    }),
  );
});
