import { describe, expect, it } from "vitest";
import { Document } from "./document.ts";
import { joinPages, PAGE_UNITS } from "./pages.ts";

function documentOf(
  text: string,
  options: Partial<ConstructorParameters<typeof Document>[0]> = {},
): Document {
  const document = new Document({ cols: 80, rows: 24, ...options });
  document.feed(text, Buffer.byteLength(text));
  return document;
}

describe("Document", () => {
  it("shows nothing before there is output", () => {
    expect(new Document({ cols: 80, rows: 24 }).pages()).toEqual([]);
  });

  it("shows output in a fence", () => {
    expect(documentOf("hello\r\n\x1b[31mworld\x1b[0m\r\n").pages()).toEqual([
      { kind: "log", index: 0, text: "```\nhello\nworld\n```", isSealed: false },
    ]);
  });

  it("shows a progress bar as it is now", () => {
    const document = documentOf("10 %\r55 %");
    expect(joinPages(document.pages().map((page) => page.text))).toBe("55 %");
    document.feed("\r100 %\r\n", document.offset + 8);
    expect(joinPages(document.pages().map((page) => page.text))).toBe("100 %");
  });

  it("seals full pages, keeps every line once and in order", () => {
    const lines = Array.from({ length: 1000 }, (_, index) => `line ${index}`);
    const document = documentOf(`${lines.join("\r\n")}\r\n`, { maxBacklogPages: 100 });
    const pages = document.pages();
    expect(joinPages(pages.map((page) => page.text))).toBe(lines.join("\n"));
    expect(pages.length).toBeGreaterThan(3);
    expect(pages.map((page) => page.index)).toEqual(pages.map((_, index) => index));
    expect(pages.slice(0, -2).every((page) => page.isSealed)).toBe(true);
    expect(pages.every((page) => page.text.length <= PAGE_UNITS)).toBe(true);
  });
});
