import { expect, test } from "vitest";
import { knownThreadId } from "../../../shared/ids.ts";
import { isMeant } from "./search.ts";

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
  expect(isMeant(thread, query)).toBe(expected);
});
