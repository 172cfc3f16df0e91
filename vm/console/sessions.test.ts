import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Sessions } from "./sessions.ts";

let folder: string;
let nowMs = 0;
const problems: unknown[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sessions-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

function start(token = "a", file = join(folder, "sessions.json")): Sessions {
  return new Sessions({ file, token, now: () => nowMs, onTrouble: (error) => problems.push(error) });
}

// Promise: S39
test("a restart signs nobody out, and the disk has no secret", () => {
  const { secret } = start().open();
  const other = start().open();
  expect(start().isOpen(secret)).toBe(true);
  start().close(other.secret);
  expect(start().isOpen(other.secret)).toBe(false);
  expect(start().isOpen(secret)).toBe(true);
  const file = join(folder, "sessions.json");
  expect(readFileSync(file, "utf8")).not.toContain(secret);
  expect(statSync(file).mode & 0o077).toBe(0);
});

test("another token or twelve hours end a session", () => {
  const { secret } = start().open();
  expect(start("b").isOpen(secret)).toBe(false);
  nowMs += 12 * 3_600_000;
  expect(start().isOpen(secret)).toBe(false);
});

test("at most a hundred are signed in; a file that is none counts as nobody", () => {
  const sessions = start();
  const secrets = Array.from({ length: 101 }, () => sessions.open().secret);
  expect(secrets.filter((secret) => start().isOpen(secret))).toEqual(secrets.slice(1));
  writeFileSync(join(folder, "sessions.json"), "[[1");
  expect(start().isOpen(secrets[100])).toBe(false);
});

test("where nothing can be written one signs in all the same, and the trouble is told", () => {
  const sessions = start("a", join(folder, "none", "sessions.json"));
  expect(sessions.isOpen(sessions.open().secret)).toBe(true);
  expect(problems).toHaveLength(1);
});
