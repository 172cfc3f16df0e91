import { expect, test } from "vitest";
import { isSaidOf, targetOf, wordsOfMark } from "./mark-words.ts";

test("what stands at a number, with where it leads", () => {
  expect(wordsOfMark({ kind: "link", text: "About us", to: "/about" })).toBe("link About us → /about");
  expect(wordsOfMark({ kind: "field", text: "" })).toBe("field");
});

test.each([
  ["http://a.test/about?x=1#top", "http://a.test/", "/about?x=1#top"],
  ["https://a.test/about", "http://a.test/", "a.test/about"],
  ["https://other.test:8443/", "http://a.test/", "other.test:8443/"],
  ["javascript:pay()", "http://a.test/", "javascript:pay()"],
  ["mailto:a@b.test", "http://a.test/", "mailto:a@b.test"],
  ["http://a.test/x", "about:blank", "a.test/x"],
  ["no address", "http://a.test/", undefined],
])("%s on %s leads to %s", (href, page, to) => {
  expect(targetOf(href, page)).toBe(to);
});

test("a long target is cut off", () => {
  expect(targetOf(`http://a.test/${"x".repeat(500)}`, "http://a.test/")).toHaveLength(80);
});

test("another thing is not said by the words of one", () => {
  const mark = { number: 3, kind: "button" as const, text: "Delete\u00a0all [x]", to: "/delete" };
  const isSaid = (words: string) => isSaidOf(mark, words);
  for (const words of [
    "button Delete all [x] → /delete",
    "3 button delete all \\[x\\] → /delete",
    "button Delete⟨U+00A0⟩all [x] → /delete",
  ])
    expect([words, isSaid(words)]).toEqual([words, true]);
  for (const words of [
    "",
    "button Delete",
    "button Delete all [x]",
    "link Delete all [x] → /delete",
    "4 button Delete all [x] → /delete",
  ])
    expect([words, isSaid(words)]).toEqual([words, false]);
  const arrows = (text: string) => ({ number: 1, kind: "button" as const, text });
  expect(isSaidOf(arrows("←"), wordsOfMark(arrows("→")))).toBe(false);
});
