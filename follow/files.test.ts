import { execFileSync } from "node:child_process";
import { appendFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { makeFolder } from "../test/support/folders.ts";
import { FilesSource } from "./files.ts";

/** Longer than a glob is not looked up again. */
const LATER_MS = 5_000;

async function followAll() {
  const { path, remove } = makeFolder();
  const texts: string[] = [];
  const sink = {
    take: (lines: readonly { text: string }[]) => void texts.push(...lines.map(({ text }) => text)),
    say: (text: string) => void texts.push(text),
  };
  const source = new FilesSource(join(path, "*.log*"), sink);
  onTestFinished(async () => {
    await source.close();
    remove();
  });
  return { at: (name: string) => join(path, name), source, texts };
}

test("a file that is followed by two names is read once: renamed, written late, emptied; by a link", async () => {
  const { at, source, texts } = await followAll();
  writeFileSync(at("a.log"), "first\n");
  symlinkSync("a.log", at("link.log"));
  await source.begin(10, 0);
  await source.look(1);
  renameSync(at("a.log"), at("a.log.1"));
  writeFileSync(at("a.log"), "new\n");
  await source.look(LATER_MS);
  appendFileSync(at("a.log.1"), "late\n");
  await source.look(LATER_MS + 1);
  writeFileSync(at("a.log.1"), "anew\n");
  await source.look(LATER_MS + 2);
  await source.look(LATER_MS + 3);
  expect(texts).toEqual(["first", "new", "late", `${at("a.log")} begins anew`, "anew"]);
});

test("a file in whose place something else now stands is named by what that is, once", async () => {
  const { at, source, texts } = await followAll();
  writeFileSync(at("a.log"), "first\n");
  await source.begin(10, 0);
  await source.look(1);
  rmSync(at("a.log"));
  execFileSync("mkfifo", [at("a.log")]);
  await source.look(LATER_MS);
  await source.look(2 * LATER_MS);
  expect(texts).toEqual(["first", `${at("a.log")} is now a pipe, not a file of text`]);
});
