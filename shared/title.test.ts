import fc from "fast-check";
import { expect, test } from "vitest";
import { cleanTitle, isMadeTitle, MAX_TITLE_CHARACTERS, threadName, titleOf } from "./title.ts";

test.each([
  ["  two\n lines\t ", "two lines"],
  ["\u001b[31mred\u0007", "[31mred"],
  ["a\u202eb\u200bc\u2028d", "abc d"],
  ["👩\u200d💻 at work", "👩\u200d💻 at work"],
  ["🖥\ufe0f app — npm test", "🖥\ufe0f app — npm test"],
  ["a\u200db", "ab"],
  ["\ud800x", "\ufffdx"],
  ["\u0000\u200b ", ""],
])("cleanTitle(%j) is %j", (text, clean) => {
  expect(cleanTitle(text)).toBe(clean);
});

test("a title is one bounded line of harmless characters, and cleaning it again changes nothing", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 300 }), (text) => {
      const title = cleanTitle(text);
      expect([...title].length).toBeLessThanOrEqual(MAX_TITLE_CHARACTERS);
      expect(title).not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\u202a-\u202e\u2066-\u2069\u200b]/u);
      expect(cleanTitle(title)).toBe(title);
    }),
  );
});

test("an unnamed thread is called by its directory and command", () => {
  expect(titleOf("shop", "npm\n test")).toBe("shop — npm test");
  expect(titleOf(".", "bash")).toBe("bash");
});

test("a thread is named by nobody while its title is made of its directory and command", () => {
  const thread = { type: "agent" as const, dir: "shop", command: `fix ${"it ".repeat(100)}` };
  const { dir, command } = thread;
  for (const title of ["", titleOf(dir, command), threadName(thread), cleanTitle(threadName(thread))])
    expect(isMadeTitle(title, thread)).toBe(true);
  for (const title of ["🤖 shop", "fix it", threadName({ ...thread, type: "terminal" }), "Mine"])
    expect(isMadeTitle(title, thread)).toBe(false);
});
