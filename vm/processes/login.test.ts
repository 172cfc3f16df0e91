import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { findHome, findShell } from "./login.ts";

const folder = mkdtempSync(join(tmpdir(), "login-"));
afterAll(() => rmSync(folder, { recursive: true }));

const make = (name: string, mode: number) => {
  writeFileSync(join(folder, name), "#!/bin/sh\nexit 1\n", { mode });
  return join(folder, name);
};

test.each([
  ["one that runs commands", make("mysh", 0o755), join(folder, "mysh")],
  ["nologin", make("nologin", 0o755), "/bin/bash"],
  ["false", "/bin/false", "/bin/bash"],
  ["missing", join(folder, "gone"), "/bin/bash"],
  ["not to be run", make("plain", 0o644), "/bin/bash"],
  ["a directory", folder, "/bin/bash"],
  ["relative", "bash", "/bin/bash"],
  ["empty", "", "/bin/bash"],
  ["none", undefined, "/bin/bash"],
])("the shell is configured as %s", (_name, configured, expected) => {
  expect(findShell(configured, "")).toBe(expected);
});

test("the home is the configured one, else the user's own, else none", () => {
  expect(findHome("/home/a", "/home/b")).toBe("/home/a");
  for (const configured of ["", "home", undefined]) {
    expect(findHome(configured, "/home/b")).toBe("/home/b");
    expect(findHome(configured, "")).toBe(undefined);
  }
});
