import { describe, expect, it } from "vitest";
import { textChunk } from "../../shared/chunk.ts";
import { Document, type PageView } from "./document.ts";
import { joinPages, PAGE_UNITS } from "./pages.ts";
import { append, documentOf, numbered } from "./testing/documents.ts";

function bodies(pages: readonly PageView[]): string[] {
  return pages.map((page) => joinPages([page.text]));
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

  it("shows colours where they are wanted", () => {
    const document = documentOf("\x1b[1;38;5;196mred\x1b[0m", { isAnsi: true });
    expect(document.pages()[0]?.text).toBe("```ansi\n\x1b[1;31mred\x1b[0m\n```");
  });

  it("shows a progress bar as it is now", () => {
    const document = documentOf("10 %\r55 %");
    expect(bodies(document.pages())).toEqual(["55 %"]);
    append(document, "\r100 %\r\n");
    expect(bodies(document.pages())).toEqual(["100 %"]);
  });

  it("seals full pages", () => {
    const pages = documentOf(numbered(1000), { maxBacklogPages: 100 }).pages();
    expect(joinPages(pages.map((page) => page.text))).toBe(numbered(1000).trimEnd().replaceAll("\r", ""));
    expect(pages.map((page) => page.index)).toEqual(pages.map((_, index) => index));
    expect(pages.slice(0, -2).every((page) => page.isSealed)).toBe(true);
    expect(pages.at(-1)?.isSealed).toBe(false);
  });

  it("fills pages alike with many rows at once and one by one", () => {
    const text = Array.from({ length: 4000 }, (_, index) => `${"x".repeat((index * index) % 80)}\r\n`).join(
      "",
    );
    const atOnce = documentOf(text, { maxBacklogPages: 1000 });
    const oneByOne = new Document({ cols: 80, rows: 24, maxBacklogPages: 1000 });
    for (const line of text.split(/(?<=\n)/)) append(oneByOne, line);
    expect(atOnce.pages().length).toBeGreaterThan(50);
    expect(oneByOne.pages()).toEqual(atOnce.pages());
    const floods = [documentOf(text), new Document({ cols: 80, rows: 24 })] as const;
    for (const line of text.split(/(?<=\n)/)) append(floods[1], line);
    expect(floods[1].pages()).toEqual(floods[0].pages());
  });

  it("lists fewer pages when the program erases rows", () => {
    const document = documentOf(`${"x".repeat(79)}\r\n`.repeat(30), { rows: 60 });
    expect(document.pages()).toHaveLength(2);
    expect(document.pageCount).toBe(2);
    append(document, "\x1b[5;1H\x1b[J");
    expect(document.pages()).toHaveLength(1);
    expect(document.pageCount).toBe(1);
  });

  it("forgets what is confirmed, and only sealed pages", () => {
    const document = documentOf(numbered(1000), { maxBacklogPages: 100 });
    const sealed = document.pages().filter((page) => page.isSealed).length;
    document.confirm(2);
    expect(document.pages()[0]?.index).toBe(2);
    document.confirm(1000);
    expect(document.pages()[0]?.index).toBe(sealed);
  });
});

describe("breakPage", () => {
  it("puts what follows a person's input on a new page, and their echo above it", () => {
    const document = documentOf("$ ");
    document.breakPage();
    append(document, "echo hi\r\nhi\r\n$ ");
    expect(bodies(document.pages())).toEqual(["$ echo hi", "hi\n$"]);
    document.breakPage();
    append(document, "ls\r\n");
    expect(bodies(document.pages())).toEqual(["$ echo hi", "hi\n$ ls"]);
    append(document, "file\r\n");
    expect(bodies(document.pages())).toEqual(["$ echo hi", "hi\n$ ls", "file"]);
  });

  it("makes no empty page", () => {
    const document = documentOf("a\r\n");
    for (let count = 0; count < 5; count++) document.breakPage();
    append(document, "b\r\n");
    expect(bodies(document.pages())).toEqual(["a", "b"]);
  });

  it("stays below what a cleared screen held", () => {
    const document = documentOf("a\r\n\r\n\r\n");
    document.breakPage();
    append(document, "\x1b[H\x1b[Jnew\r\nmore");
    expect(bodies(document.pages())).toEqual(["a", "new\nmore"]);
  });

  it("stays below what another size made shorter", () => {
    const document = documentOf("abcdefgh\r\n", { cols: 4, rows: 8 });
    document.breakPage();
    document.resize(8, 8);
    append(document, "new");
    expect(bodies(document.pages())).toEqual(["abcdefgh", "new"]);
  });

  it("takes the screen along when the old page must end", () => {
    const document = documentOf(`${numbered(30)}bar 10 %`);
    document.breakPage("screen");
    append(document, "\rbar 20 %");
    const [first, second] = document.pages();
    expect(first?.isSealed).toBe(true);
    expect(
      joinPages([first?.text ?? ""])
        .split("\n")
        .at(-1),
    ).toBe("line 6");
    expect(
      joinPages([second?.text ?? ""])
        .split("\n")
        .at(-1),
    ).toBe("bar 20 %");
  });
});

describe("a full-screen program", () => {
  it("has one page of its own, after the log, as long as it runs", () => {
    const document = documentOf("log\r\n\x1b[?1049h\x1b[H~ vim");
    expect(document.pages().map(({ kind, index }) => `${kind} ${index}`)).toEqual(["log 0", "screen 0"]);
    expect(bodies(document.pages())).toEqual(["log", "~ vim"]);
    append(document, "\x1b[Hchanged");
    expect(bodies(document.pages())).toEqual(["log", "changed"]);
    append(document, "\x1b[?1049lback");
    document.breakPage();
    expect(bodies(document.pages())).toEqual(["log\nback"]);
    append(document, "\x1b[?1049h");
    expect(document.pages().at(-1)).toMatchObject({ kind: "screen", index: 1, text: "```\n\u200b\n```" });
  });

  it("fits one message whatever its size", () => {
    const document = documentOf(`\x1b[?1049h${"🎉`".repeat(30_000)}`, { cols: 500, rows: 200 });
    expect(document.pages().at(-1)?.text.length).toBeLessThanOrEqual(PAGE_UNITS);
  });
});

describe("a flood", () => {
  it("leaves the newest pages and says exactly what is missing", () => {
    const document = documentOf(`start\r\n${numbered(100_000)}`);
    const pages = document.pages();
    expect(pages.length).toBeLessThan(14);
    expect(pages[0]).toMatchObject({ kind: "gap", index: 0 });
    const [, lines, megabytes] = /^… ([\d,]+) lines \(([\d.]+) MB\)/.exec(pages[0]?.text ?? "") ?? [];
    const shown = joinPages(pages.slice(1).map((page) => page.text));
    const missing = 100_001 - shown.split("\n").length;
    expect(Number(lines?.replace(",", ""))).toBe(missing);
    const all = `start\n${numbered(100_000).replaceAll("\r", "")}`;
    expect(`${shown}\n`).toBe(all.slice(-shown.length - 1));
    expect(Number(megabytes)).toBeCloseTo((all.length - shown.length - 1) / 1e6, 1);
  });

  it("leaves a page that has a message, and a gap that was told, as they are", () => {
    const document = documentOf(numbered(100));
    document.begin(1);
    append(document, numbered(10_000));
    expect(
      document
        .pages()
        .slice(0, 3)
        .map((page) => page.kind),
    ).toEqual(["log", "gap", "log"]);
    expect(document.pages()[1]?.isSealed).toBe(false);
    document.begin(2);
    const count = () => Number(/[\d,]+/.exec(document.pages()[1]?.text ?? "")?.[0].replaceAll(",", ""));
    const before = count();
    append(document, numbered(10_000));
    // The flood goes on: so does its gap, in the same message, with the newest rows below it.
    expect(document.pages()[1]).toMatchObject({ kind: "gap", isSealed: false });
    expect(document.pages()[1]?.text).toMatch(/not shown, \/export has them\n```\n[\s\S]*line 9999\n```$/);
    expect(count()).toBeGreaterThan(before + 9_000);
    document.begin(3);
    const told = document.pages()[1];
    expect(told).toMatchObject({
      isSealed: true,
      text: expect.stringMatching(/not shown, \/export has them$/),
    });
    append(document, numbered(10_000));
    expect(document.pages()[1]).toEqual(told);
    expect(document.pages()[3]?.kind).toBe("gap");
    expect(document.pages().map((page) => page.index)).toEqual(document.pages().map((_, index) => index));
  });

  it("lets others run", async () => {
    const document = new Document({ cols: 80, rows: 24 });
    const chunk = "y\r\n".repeat(400_000);
    let turns = 0;
    let timer = setImmediate(function turn() {
      turns++;
      timer = setImmediate(turn);
    });
    for (let count = 0; count < 5; count++)
      await document.feedLong(textChunk(chunk, document.offset + chunk.length));
    clearImmediate(timer);
    expect(turns).toBeGreaterThanOrEqual(5); // once a chunk at the least, however fast the machine
    expect(document.offset).toBe(6_000_000);
    expect(document.pages()[0]?.text).toMatch(/^… 1,99\d,\d\d\d lines \(4\.0 MB\) not shown/);
  });
});
