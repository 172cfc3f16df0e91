import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { dropUselessTmpdir, findHome, findShell, findTerm, threadEnv } from "./login.ts";

const folder = mkdtempSync(join(tmpdir(), "login-"));
afterAll(() => rmSync(folder, { recursive: true }));

const make = (name: string, mode: number, text = "#!/bin/sh\nexit 1\n") => {
  writeFileSync(join(folder, name), text, { mode });
  return join(folder, name);
};
const link = (name: string, to: string) => {
  symlinkSync(to, join(folder, name));
  return join(folder, name);
};

test.each([
  ["one that runs commands", make("mysh", 0o755), join(folder, "mysh")],
  ["nologin", make("nologin", 0o755), "/bin/bash"],
  ["false", "/bin/false", "/bin/bash"],
  ["a link to one that refuses a login", link("login-shell", "nologin"), "/bin/bash"],
  ["a link to one that runs commands", link("linked", "mysh"), join(folder, "linked")],
  ["a link that leads nowhere", link("dangling", "nowhere"), "/bin/bash"],
  ["a link to itself", link("loop", "loop"), "/bin/bash"],
  ["a script whose interpreter is gone", make("old", 0o755, "#!/opt/gone/zsh\n"), "/bin/bash"],
  ["a script by a relative interpreter", make("rel", 0o755, "#! sh\n"), "/bin/bash"],
  ["a text that is no program", make("text", 0o755, "exec sh\n"), "/bin/bash"],
  ["an empty file", make("blank", 0o755, ""), "/bin/bash"],
  ["missing", join(folder, "gone"), "/bin/bash"],
  ["not to be run", make("plain", 0o644), "/bin/bash"],
  ["a directory", folder, "/bin/bash"],
  ["relative", "bash", "/bin/bash"],
  ["empty", "", "/bin/bash"],
  ["none", undefined, "/bin/bash"],
])("the shell is configured as %s", (_name, configured, expected) => {
  expect(findShell(configured, "")).toBe(expected);
});

test("a home that is no directory gives way to the user's own", () => {
  const [file, own] = [make("file", 0o600), folder];
  for (const configured of [file, join(file, "below"), join(folder, "not-there"), link("to-loop", "loop")])
    expect(findHome(configured, own)).toBe(own);
  expect(findHome(folder, "/")).toBe(folder);
  expect(findHome(file, "")).toBe(undefined);
  expect(findHome(join(folder, "not-there"), join(folder, "nor-this"))).toBe(join(folder, "not-there"));
});

test("a login's variables are there, and none that would stand in the way", () => {
  const env = (given: Record<string, string>) => threadEnv(given, [], folder);
  expect(env({})["USER"]).toBe(userInfo().username);
  expect(env({ USER: "ada" })).toMatchObject({ USER: "ada", LOGNAME: "ada" });
  expect(env({ USER: "ada", LOGNAME: "eve" })).toMatchObject({ USER: "ada", LOGNAME: "eve" });
  expect(env({ TMPDIR: folder })["TMPDIR"]).toBe(folder);
  for (const TMPDIR of [join(folder, "gone"), make("tmp", 0o755), "tmp", ""])
    expect(env({ TMPDIR })["TMPDIR"]).toBe(undefined);
  const own = { TMPDIR: join(folder, "gone") };
  dropUselessTmpdir(own);
  expect(own).toEqual({});
});

test("the terminal is one that the machine knows", () => {
  const known = join(folder, "terminfo");
  mkdirSync(join(known, "s"), { recursive: true });
  expect(["tmux-256color", "screen-256color"]).toContain(findTerm({ TERMINFO: known }));
  writeFileSync(join(known, "s", "screen-256color"), "");
  expect(findTerm({ TERMINFO: known }, [])).toBe("screen-256color");
  mkdirSync(join(known, "74"));
  writeFileSync(join(known, "74", "tmux-256color"), "");
  expect(findTerm({ TERMINFO: known }, [])).toBe("tmux-256color");
  expect(findTerm({ HOME: folder }, [])).toBe("tmux-256color");
});

test("the home is the configured one, else the user's own, else none", () => {
  expect(findHome("/home/a", "/home/b")).toBe("/home/a");
  for (const configured of ["", "home", undefined]) {
    expect(findHome(configured, "/home/b")).toBe("/home/b");
    expect(findHome(configured, "")).toBe(undefined);
  }
});
