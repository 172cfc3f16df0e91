import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { makeFolder } from "../../../test/support/folders.ts";
import { findProgram, splitArgs, turnArgv } from "./agent-program.ts";

describe("AGENT_ARGS is split", () => {
  test.each([
    ["", []],
    ["  ", []],
    ["--permission-mode acceptEdits", ["--permission-mode", "acceptEdits"]],
    [" a\t b\nc ", ["a", "b", "c"]],
    [`--name "two words" 'and "these"'`, ["--name", "two words", 'and "these"']],
    [`a"b c"d`, ["ab cd"]],
    [`"" ''`, ["", ""]],
    [`"it's"`, ["it's"]],
    ["a\\ b $HOME *", ["a\\", "b", "$HOME", "*"]],
  ])("%j", (text, words) => expect(splitArgs(text)).toEqual(words));

  test.each(["'", 'a "b', `"it's`])("%j is refused", (text) =>
    expect(() => splitArgs(text)).toThrow(/a ['"] is not closed/),
  );

  test("any words come back", () => {
    const word = fc.string({ unit: "binary" }).filter((text) => !text.includes("'"));
    fc.assert(
      fc.property(fc.array(word), (words) => {
        expect(splitArgs(words.map((each) => `'${each}'`).join(" "))).toEqual(words);
      }),
    );
  });
});

test("a turn's arguments: a new conversation or the same one", () => {
  const agent = { program: "agent", args: ["--mode", "x"] };
  const turn = { file: "/bin/agent", session: "id" };
  const more = ["id", "--mode", "x"];
  expect(turnArgv(agent, { ...turn, isFirst: true })).toEqual(["/bin/agent", "-p", "--session-id", ...more]);
  expect(turnArgv(agent, { ...turn, isFirst: false })).toEqual(["/bin/agent", "-p", "--resume", ...more]);
});

describe("a program is found", () => {
  const folder = makeFolder();
  afterAll(folder.remove);
  const path = (name: string) => join(folder.path, name);
  mkdirSync(path("first/agent"), { recursive: true }); // a folder of its name
  mkdirSync(path("second"));
  mkdirSync(path("third"));
  for (const name of ["second/agent", "third/agent", "second/plain"]) writeFileSync(path(name), "");
  chmodSync(path("third/agent"), 0o755);
  symlinkSync(path("third/agent"), path("link"));

  test("on PATH, the first that can be run", () => {
    const search = ["relative", "", path("missing"), path("first"), path("second"), path("third")].join(":");
    expect(findProgram("agent", search)).toBe(path("third/agent"));
    expect(findProgram("agent", path("second"))).toBeUndefined();
    expect(findProgram("agent", "")).toBeUndefined();
  });

  test("by a path of its own", () => {
    expect(findProgram(path("third/agent"), "")).toBe(path("third/agent"));
    expect(findProgram(path("link"), "")).toBe(path("link"));
    expect(findProgram(path("second/plain"), "")).toBeUndefined();
    expect(findProgram(path("first/agent"), "")).toBeUndefined();
  });
});
