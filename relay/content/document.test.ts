import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { textChunk } from "../../shared/chunk.ts";
import { Document, type DocumentOptions, type PageView } from "./document.ts";
import { joinPages, PAGE_UNITS } from "./pages.ts";
import { Screen } from "./screen.ts";
import { cut, output, places, RUNS, size } from "./testing/programs.ts";
import { cleanRow } from "./text.ts";

function documentOf(text: string, options: Partial<DocumentOptions> = {}): Document {
  const document = new Document({ cols: 80, rows: 24, ...options });
  document.feed(textChunk(text, Buffer.byteLength(text)));
  return document;
}

function append(document: Document, text: string): void {
  document.feed(textChunk(text, document.offset + Buffer.byteLength(text)));
}

function bodies(pages: readonly PageView[]): string[] {
  return pages.map((page) => joinPages([page.text]));
}

const numbered = (count: number): string =>
  Array.from({ length: count }, (_, index) => `line ${index}\r\n`).join("");

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

describe("properties", () => {
  /** What happens to a thread: output, another size, a forced page. */
  const step = fc.oneof(
    { weight: 4, arbitrary: output.map((text) => ({ kind: "write" as const, text })) },
    size.map(({ cols, rows }) => ({ kind: "resize" as const, cols, rows })),
    fc.constantFrom("cursor" as const, "screen" as const).map((place) => ({ kind: "break" as const, place })),
  );
  const steps = fc.array(step, { maxLength: 8, size: "max" });

  type Step =
    typeof steps extends fc.Arbitrary<infer All> ? (All extends (infer One)[] ? One : never) : never;

  function apply(document: Document, { kind, ...rest }: Step): void {
    if (kind === "write" && "text" in rest) append(document, rest.text);
    else if (kind === "resize" && "cols" in rest) document.resize(rest.cols, rest.rows);
    else if ("place" in rest) document.breakPage(rest.place);
  }

  it("the pages joined are the terminal's text", () => {
    fc.assert(
      fc.property(output, size, (text, { cols, rows }) => {
        const screen = new Screen({ cols, rows });
        screen.write(text);
        const lines = [...screen.takeSettled(), ...screen.live()].map((line) => cleanRow(line.text));
        const pages = documentOf(text, { cols, rows, maxBacklogPages: Infinity }).pages();
        const log = pages.filter((page) => page.kind === "log").map((page) => page.text);
        expect(joinPages(log)).toBe(lines.join("\n"));
        expect(pages.every((page) => page.text.length <= PAGE_UNITS && page.text.trim() !== "")).toBe(true);
      }),
      RUNS,
    );
  });

  it("pages do not depend on how the log is cut", () => {
    fc.assert(
      fc.property(steps, size, places, (all, { cols, rows }, at) => {
        const whole = new Document({ cols, rows, maxBacklogPages: 3 });
        const pieces = new Document({ cols, rows, maxBacklogPages: 3 });
        for (const one of all) {
          apply(whole, one);
          if (one.kind !== "write") apply(pieces, one);
          else for (const text of cut(one.text, at)) apply(pieces, { ...one, text });
        }
        expect(pieces.pages()).toEqual(whole.pages());
      }),
      RUNS,
    );
  });

  it("a relay killed at any moment goes on with the same pages", () => {
    const life = fc.array(fc.record({ step, at: places, confirm: fc.boolean(), isKilled: fc.boolean() }), {
      maxLength: 12,
      size: "max",
    });
    let kills = 0;
    fc.assert(
      fc.property(life, size, fc.boolean(), (all, { cols, rows }, isAnsi) => {
        const options = { isAnsi, maxBacklogPages: Infinity };
        const whole = new Document({ cols, rows, ...options });
        let document = new Document({ cols, rows, ...options });
        let log = Buffer.alloc(0);
        const sealed = new Map<number, string>();
        const see = (): void => {
          for (const page of document.pages()) {
            if (!page.isSealed) continue;
            expect(sealed.get(page.index) ?? page.text).toBe(page.text);
            sealed.set(page.index, page.text);
          }
        };
        for (const { step: one, at, confirm, isKilled } of all) {
          apply(whole, one);
          if (one.kind !== "write") apply(document, one);
          else {
            log = Buffer.concat([log, Buffer.from(one.text)]);
            for (const text of cut(one.text, at)) append(document, text);
          }
          see();
          if (confirm) document.confirm(document.pages().find((page) => !page.isSealed)?.index ?? Infinity);
          if (!isKilled) continue;
          const mark = document.mark(Infinity);
          if (mark === undefined) continue;
          kills++;
          document = Document.restore(JSON.parse(JSON.stringify(mark)), options);
          expect(document.offset).toBe(mark.offset);
          for (const text of cut(log.subarray(mark.offset).toString(), at)) append(document, text);
          see();
        }
        for (const page of whole.pages()) if (page.isSealed) expect(sealed.get(page.index)).toBe(page.text);
        const open = (pages: PageView[]): PageView[] => pages.filter((page) => !page.isSealed);
        expect(open(document.pages())).toEqual(open(whole.pages()));
      }),
      RUNS,
    );
    expect(kills).toBeGreaterThan(0);
  });
});

describe("delivery", () => {
  /** A piece of output, how many of the listed pages are sent after it, and whether the relay dies then. */
  const life = fc.array(
    fc.record({
      isFlood: fc.boolean(),
      output,
      sent: fc.integer({ min: 0, max: 6 }),
      isKilled: fc.boolean(),
      hasBreak: fc.boolean(),
    }),
    { maxLength: 15, size: "max" },
  );

  /** Text equal, apart from what an honest notice names with its exact count. */
  function expectHonest(pages: readonly { kind: string; text: string }[], rows: readonly string[]): void {
    let next = 0;
    for (const { kind, text } of pages) {
      if (kind === "gap") next += Number(/^… ([\d,]+) lines? /.exec(text)?.[1]?.replaceAll(",", ""));
      else {
        const shown = joinPages([text]).split("\n");
        expect(shown).toEqual(rows.slice(next, next + shown.length));
        next += shown.length;
      }
    }
    expect(next).toBe(rows.length);
  }

  it("is the terminal's text, whatever is dropped in a flood and however often the relay dies", () => {
    let gaps = 0;
    fc.assert(
      fc.property(life, size, (all, { cols, rows }) => {
        const options = { maxBacklogPages: 4 };
        const screen = new Screen({ cols, rows });
        let document = new Document({ cols, rows, ...options });
        let log = Buffer.alloc(0);
        const messages: { kind: string; text: string }[] = [];
        for (const { output: text, isFlood, sent, isKilled, hasBreak } of all) {
          const flood = isFlood ? `${text}\x1b[r\x1b[?1049l\x1b[4l\x1b(B\x0f\r\n${numbered(3000)}` : text;
          log = Buffer.concat([log, Buffer.from(flood)]);
          screen.write(flood);
          append(document, flood);
          if (hasBreak) document.breakPage();
          for (const { index } of document
            .pages()
            .filter((page) => page.kind !== "screen")
            .slice(0, sent)) {
            document.begin(index + 1);
            const page = document.pages().find((one) => one.kind !== "screen" && one.index === index);
            if (page === undefined) continue;
            expect(index).toBeLessThanOrEqual(messages.length);
            messages[index] = page;
            if (page.isSealed) document.confirm(index + 1);
          }
          if (!isKilled) continue;
          const mark = document.mark(Infinity);
          if (mark === undefined) continue;
          document = Document.restore(mark, options);
          append(document, log.subarray(mark.offset).toString());
        }
        const open = document.pages().filter((page) => page.kind !== "screen");
        expect(open.at(-1)?.index ?? document.pageCount - 1).toBe(document.pageCount - 1);
        const done = messages.slice(0, open[0]?.index ?? document.pageCount);
        gaps += [...done, ...open].filter((page) => page.kind === "gap").length;
        const lines = [...screen.takeSettled(), ...screen.live()].map((line) => cleanRow(line.text));
        expectHonest([...done, ...open], lines);
      }),
      RUNS,
    );
    expect(gaps).toBeGreaterThan(0);
  });
});

describe("mark", () => {
  const prose =
    "The quick brown fox jumps over the lazy dog while 1234 other animals watch it from a distance.\r\n";

  it("is small for a full screen of text", () => {
    const source = Array.from(
      { length: 400 },
      (_, index) => `${index * 7919} ${prose.slice(index % 40)}`,
    ).join("");
    const document = documentOf(source);
    document.confirm(Infinity);
    const mark = document.mark();
    expect(mark?.state.length).toBeLessThan(3072);
    expect(mark?.offset).toBe(document.offset);
  });

  it("is not made when it would be too big", () => {
    const noise = Array.from({ length: 20_000 }, (_, index) =>
      String.fromCharCode(33 + (((index * index * 31) % 9973) % 90)),
    ).join("");
    const document = documentOf(noise, { cols: 200, rows: 60 });
    document.confirm(Infinity);
    expect(document.mark()).toBeUndefined();
    expect(document.mark(100_000)).toBeDefined();
  });

  it("waits for what is not delivered", () => {
    const document = new Document({ cols: 80, rows: 24, maxBacklogPages: 100 });
    for (let count = 0; count < 50; count++) append(document, prose.repeat(10));
    expect(document.mark()?.page).toBe(0);
    document.confirm(5);
    expect(document.mark()?.page).toBeLessThanOrEqual(5);
    expect(document.mark()?.page).toBeGreaterThan(0);
    document.confirm(Infinity);
    expect(document.mark()?.offset).toBe(document.offset);
  });

  it("of another version is refused", () => {
    expect(() => Document.restore({ offset: 0, page: 0, state: "q1YqS0yqAAA=", alternates: 0 })).toThrow();
  });
});
