import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { makeFolder } from "../../../test/support/folders.ts";
import { broughtBy, findInstructions, instructionText } from "./instructions.ts";

let folder: ReturnType<typeof makeFolder>;
let [root, dir] = ["", ""];
beforeEach(() => {
  folder = makeFolder();
  root = join(folder.path, "repo");
  dir = join(root, "part");
  mkdirSync(join(root, ".git"), { recursive: true });
  mkdirSync(dir);
});
afterEach(() => folder.remove());

const write = (place: string, name: string, text: string) => writeFileSync(join(place, name), text);

test("the directory's and the repository's are read, the outermost first; AGENTS.md goes before CLAUDE.md", () => {
  write(folder.path, "AGENTS.md", "not of the repository");
  write(root, "CLAUDE.md", "Use tabs.\n");
  write(dir, "AGENTS.md", "Use spaces.");
  write(dir, "CLAUDE.md", "not this one");
  const found = findInstructions(dir);
  expect(found).toEqual([
    { name: "../CLAUDE.md", text: "Use tabs.\n" },
    { name: "AGENTS.md", text: "Use spaces." },
  ]);
  expect(instructionText(found)).toBe(
    '<file name="../CLAUDE.md">\nUse tabs.\n</file>\n\n<file name="AGENTS.md">\nUse spaces.\n</file>',
  );
  const brought = broughtBy(dir, found);
  expect(brought).toMatchObject({ isWhole: true, items: [{ text: "../CLAUDE.md:\n    Use tabs." }, {}] });
  write(dir, "AGENTS.md", "Use spaces!");
  expect(broughtBy(dir, findInstructions(dir))?.key).not.toBe(brought?.key);
});

test("outside of a repository only the directory's own counts; empty ones and none are nothing", () => {
  const outside = join(folder.path, "outside");
  mkdirSync(outside);
  write(folder.path, "AGENTS.md", "not this one");
  expect(broughtBy(outside, findInstructions(outside))).toBeUndefined();
  write(outside, "AGENTS.md", " \n");
  expect(findInstructions(outside)).toEqual([]);
});

test("what leads out, what is no file and what is too long is named, not read, and can't be trusted", () => {
  write(folder.path, "secret", "a key");
  symlinkSync(join(folder.path, "secret"), join(root, "AGENTS.md"));
  execFileSync("mkfifo", [join(dir, "AGENTS.md")]);
  const found = findInstructions(dir);
  expect(found).toEqual([
    { name: "../AGENTS.md", leadsTo: join(folder.path, "secret") },
    { name: "AGENTS.md", problem: "it is no file" },
  ]);
  expect(instructionText(found)).toBe("");
  expect(broughtBy(dir, found)).toMatchObject({ isWhole: false });
  const long = join(root, "long");
  mkdirSync(join(long, ".git"), { recursive: true });
  write(long, "AGENTS.md", "x".repeat(64 * 1024 + 1));
  expect(findInstructions(long)).toMatchObject([{ problem: expect.stringContaining("64 KiB") }]);
});

test("a link to the other name in the repository is followed, one to another of its files is not", () => {
  write(root, "CLAUDE.md", "Use tabs.");
  symlinkSync("../CLAUDE.md", join(dir, "AGENTS.md"));
  expect(findInstructions(dir)).toMatchObject([
    { name: "../CLAUDE.md" },
    { name: "AGENTS.md", text: "Use tabs." },
  ]);
  write(root, ".env", "KEY=1");
  const other = join(root, "other");
  mkdirSync(other);
  symlinkSync("../.env", join(other, "AGENTS.md"));
  expect(findInstructions(other)).toMatchObject([{}, { leadsTo: join(root, ".env") }]);
});
