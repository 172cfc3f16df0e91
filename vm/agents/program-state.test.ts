/** Programs that are asked about themselves, with each way in which they may not answer. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { makeFolder } from "../../test/support/folders.ts";
import { findSignedIn, lookAtProgram } from "./program-state.ts";

const folder = makeFolder();
afterAll(() => folder.remove());

const ENV = { PATH: `${folder.path}:${process.env["PATH"]}` };
const KNOWN = { version: { args: ["--version"], min: "2.1.0" } };

function program(name: string, text: string, head = "#!/bin/sh\n"): string {
  const file = join(folder.path, name);
  writeFileSync(file, head + text, { mode: 0o755 });
  return file;
}

const look = (name: string, args: string[] = []) => lookAtProgram({ program: name, args }, KNOWN, ENV);

test("a version is found behind the program's own arguments, and an old one is told", async () => {
  const file = program("good", 'echo "good $1 $2 2.1.3"');
  expect(await look("good", ["-x"])).toEqual({
    ...{ file, printed: "good -x --version 2.1.3", version: "2.1.3", fault: undefined },
  });
  program("old", "echo 2.0.9");
  expect((await look("old")).fault).toMatchObject({ code: "engine_too_old" });
});

test.each([
  ["absent", undefined, undefined],
  ["mute", "true", /prints no version/],
  ["failing", "echo 9.9.9; exit 3", /ended with 3/],
  ["endless", "yes", /more than 65536 bytes/],
])("a program that is %s has its fault", async (name, text, says) => {
  if (text !== undefined) program(name, text);
  const { file, fault } = await look(name);
  expect(file === undefined).toBe(text === undefined);
  if (says) expect(fault?.says).toMatch(says);
});

test("a program that is none is told, and ends nothing", async () => {
  program("none", "\u007fELFnothing", "");
  expect((await look("none")).fault).toMatchObject({ code: "engine_missing" });
});

test("what a program leaves behind with its output open is not waited for", async () => {
  program("leaves", "sleep 20 & echo 2.1.0");
  const began = performance.now();
  expect((await look("leaves")).version).toBe("2.1.0");
  expect(performance.now() - began).toBeLessThan(10_000);
});

test("it runs at the root, not where the sidecar stands", async () => {
  program("where", 'pwd; echo "2.1.0"');
  expect((await look("where")).printed).toBe("/");
});

test.each([
  ["exit 0", {}, true],
  ["exit 1", { KEY: "x" }, false],
  ["exit 2", {}, undefined],
  ["exit 2", { KEY: "x" }, true],
])("a sign-in is the program's own word: %s with %j", async (text, more, expected) => {
  const file = program("signed", text);
  const signIn = { status: ["auth"], keys: ["KEY"], how: "" };
  expect(await findSignedIn(file, signIn, { ...ENV, ...more })).toBe(expected);
});

test("an engine of ours is signed in by a key alone; of a program that can't say, nobody knows", async () => {
  const signIn = { keys: ["A", "B"], how: "" };
  expect(await findSignedIn(undefined, signIn, { ...ENV, B: "x" })).toBe(true);
  expect(await findSignedIn(undefined, signIn, { ...ENV, B: "" })).toBe(false);
  expect(await findSignedIn("/bin/true", signIn, ENV)).toBeUndefined();
});
