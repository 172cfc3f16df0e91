/** Gates as they are written: fields that are refused, and calls that fit. */
import { resolve } from "node:path";
import { expect, test } from "vitest";
import { fitsCall, fitsCommand, gatedCall } from "./gate-fit.ts";
import { deciderOf, gateSchema, gatesThatCount, noOf, timeoutOf } from "./gates.ts";

const NO = "then";
const no = (word: string, gate: object) => Object.fromEntries([...Object.entries(gate), [NO, word]]);
const problemsOf = (gate: unknown) =>
  (gateSchema.safeParse(gate).error?.issues ?? []).map(
    ({ path, message }) => `${path.join(".")}: ${message}`,
  );

test.each<[string, object, RegExp]>([
  ["an unknown point", { at: "sometimes", by: "person" }, /^at: must be one of before_step/],
  ["nobody who decides", { at: "before_step" }, /^by: must be person, command/],
  ["a directive without a name", { at: "before_step", by: "directive: " }, /^by: must be person/],
  ["a field that is none", { at: "before_step", by: "person", when: 1 }, /: Unrecognized key/],
  [
    "a field of another point",
    { at: "on_limit", by: "person", if: { tool: "Bash" } },
    /^if\.tool: contradicts at/,
  ],
  [
    "two ways to count",
    { at: "after_step", by: "person", if: { every: 5, path: "a" } },
    /^if\.every: contradicts path/,
  ],
  ["a no that a person chooses", no("fail", { at: "on_error", by: "person" }), /^then: contradicts by/],
  ["another try at a limit", no("retry", { at: "on_limit", by: "command: x" }), /^then: contradicts at/],
  ["a directive at a limit", { at: "on_limit", by: "directive: a" }, /^by: contradicts at/],
  [
    "a tool without a number",
    { at: "on_error", by: "person", if: { tool: "Bash" } },
    /^if\.tool: needs failures/,
  ],
  ["a no that means yes", no("continue", { at: "before_step", by: "person" }), /^then: must be one of/],
  [
    "a command that takes a day",
    { at: "before_step", by: "command: x", timeoutSeconds: 86_400 },
    /^timeoutSeconds: must be at most 3600/,
  ],
])("%s is named", (_name, gate, expected) => {
  expect(problemsOf(gate)).toEqual([expect.stringMatching(expected)]);
});

test("who decides is read from both ways to say it", () => {
  expect(deciderOf({ by: "command: npm test" })).toEqual({ is: "command", command: "npm test" });
  expect(deciderOf({ by: { command: "npm test" } })).toEqual({ is: "command", command: "npm test" });
  expect(deciderOf({ by: "directive: reviewer" })).toEqual({ is: "directive", name: "reviewer" });
  expect(timeoutOf({ by: "person" })).toBeUndefined();
  expect(timeoutOf({ by: "command: x" })).toBe(120);
  expect(noOf({ at: "before_step" })).toBe("fail");
  expect(noOf({ at: "after_complete" })).toBe("retry");
});

test("gates of a directory that nobody trusts do not count", () => {
  const gates = [
    { at: "before_step", by: "person" },
    { at: "before_step", by: "command: x", space: "project" },
  ] as const;
  expect(gatesThatCount(gates, true).map(({ index }) => index)).toEqual([0]);
  expect(gatesThatCount(gates, undefined).map(({ index }) => index)).toEqual([0, 1]);
});

test.each<[string, string, boolean]>([
  ["git push*", "git push origin main", true],
  ["git push*", "cd api && git push", true],
  ["git push*", "GIT_SSH=x  git   push", true],
  ["git push*", "true;git push", true],
  ["git push*", "$(git push)", true],
  ["git push*", "git status", false],
  ["git push*", "if true; then git push; fi", true],
  ["git push*", "for a in b; do git push; done", true],
  ["git push*", "! git push", true],
  ["git push*", "time git push", true],
  ["git push*", "while ! git push; do sleep 1; done", true],
  ["git push*", 'A="x y" B+=\'z z\' C=a"b c" git push', true],
  ["git push*", "A=1 echo git push", false],
  ["git push", "git pushes", false],
  // Signs in quotes: what would be a command if a shell ran it is one, and so is the whole with its quotes.
  ["git push*", 'bash -c "true; git push"', true],
  ["git push*", "echo 'a; git push'", true],
  ['git commit -m "a;b"', 'cd x && git commit -m "a;b"', true],
  ["git commit*'a | b'", "true; git commit -m 'a | b'; true", true],
  ["git push*", 'A="x;y" git push', true],
  ["git push*", "A='x && y' B=\\; git push", true],
  ["git push*", 'echo "it\\"s; x" && git push', true],
  ["git push*", "echo 'never closed; git push", true],
  ["git push*", 'echo "$(git push)"', true],
  ["git push*", 'echo "git push"', false],
  ["git push*", `git status ${"x".repeat(30_000)}`, true],
])("the pattern %s and the command %s", (pattern, command, fits) => {
  expect(fitsCommand(pattern, command)).toBe(fits);
});

test("a path fits by its own name, and by the one that it leads to", () => {
  const real = (path: string) =>
    resolve("/w", path.replace(/^~\//, "/home/a/")).replace(/^\/w\/link/, "/w/secrets");
  const place = { dir: "/w", real };
  const fits = (path: string, named: string) =>
    fitsCall({ path }, gatedCall("Write", { file_path: named }), place);
  expect(fits("secrets/**", "secrets/a/b")).toBe(true);
  expect(fits("secrets/**", "/w/secrets/a")).toBe(true);
  expect(fits("secrets/**", "x/../secrets/a")).toBe(true);
  expect(fits("secrets/**", "link/a")).toBe(true);
  expect(fits("/home/a/.ssh/**", "~/.ssh/key")).toBe(true);
  expect(fits("*.env", ".env")).toBe(true);
  expect(fits("*.env", "a/.env")).toBe(false);
  expect(fits("**/.env", "a/.env")).toBe(true);
  expect(fitsCall({ path: "**" }, gatedCall("Bash", { command: "x" }), place)).toBe(false);
});
