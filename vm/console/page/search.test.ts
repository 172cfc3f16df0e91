import { expect, test } from "vitest";
import { knownThreadId } from "../../../shared/ids.ts";
import { findMatch } from "./search.ts";

const thread = {
  threadId: knownThreadId.parse("k3"),
  number: 12,
  title: "Fix the Login",
  dir: "shop/web",
  command: "fix it",
  type: "agent" as const,
  status: "waiting" as const,
  doing: "npm test",
};

test.each([
  ["", true],
  ["  ", true],
  ["login", true],
  ["LOGIN shop", true],
  ["#12", true],
  ["k3", true],
  ["waiting agent", true],
  ["npm test", true],
  ["login infra", false],
  ["#121", false],
  ["fix it\nshop", true], // no word reaches over a line
  ["login.*", false],
])("%j: %s", (query, expected) => {
  expect(findMatch(thread, query)).toEqual(expected ? {} : undefined);
});

test.each([
  ["tests", "3 Tests failed"],
  ["login failed", "3 Tests failed"],
  ["server failed", "server is up"],
  ["login", undefined],
  ["tests infra", null],
])("%j in what it printed last", (query, line) => {
  const lines = ["2 tests passed", "3 Tests failed", "server is up"];
  const expected = line === null ? undefined : line === undefined ? {} : { line };
  expect(findMatch(thread, query, lines)).toEqual(expected);
});
