import { expect, test } from "vitest";
import {
  CONSOLE,
  describePrincipal,
  findDiscordId,
  isHuman,
  job,
  OWNER,
  type Principal,
  parsePrincipal,
  person,
  printPrincipal,
  RELAY,
  sourceSchema,
  threadPrincipal,
} from "./principal.ts";

const ALL: [Principal, string, boolean][] = [
  [OWNER, "owner", true],
  [RELAY, "relay", false],
  [CONSOLE, "console", true],
  [person("123456789012345678"), "discord:123456789012345678", true],
  [threadPrincipal("child-1"), "thread:child-1", false],
  [{ kind: "caller", name: "ci" }, "caller:ci", false],
  [job("nightly"), "job:nightly", false],
];

test.each(ALL)("%o is kept as %s, and read as itself", (principal, source, isOfHuman) => {
  expect(printPrincipal(principal)).toBe(source);
  expect(sourceSchema.parse(source)).toBe(source);
  expect(parsePrincipal(source)).toEqual(principal);
  expect(isHuman(principal)).toBe(isOfHuman);
  expect(findDiscordId(source)).toBe(principal.kind === "person" ? principal.discordId : undefined);
});

test.each([
  "",
  "boss",
  "discord:",
  "discord:me",
  "discord:1:2",
  "owner:x",
  "thread:a b",
  "api:x",
  "terminal",
])("%j names nobody", (source) => {
  expect(sourceSchema.safeParse(source).success).toBe(false);
});

test("what the sidecar does by itself is called threadmux before people", () => {
  expect(describePrincipal(job("kill"))).toBe("threadmux");
  expect(describePrincipal(person("123456789012345678"))).toBe("Discord user 123456789012345678");
});
