import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Document, type PageView } from "./document.ts";
import { joinPages, PAGE_UNITS, withAddresses } from "./pages.ts";
import { Screen } from "./screen.ts";
import { append, documentOf, numbered } from "./testing/documents.ts";
import { cut, isRedrawn, output, places, RUNS, size, still } from "./testing/programs.ts";
import { cleanRow } from "./text.ts";

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
      fc.property(still, size, (text, size) => {
        fc.pre(!isRedrawn(text, size));
        const { shown, lines, pages } = compare(text, size);
        expect(shown.join("\n")).toBe(lines.join("\n"));
        expect(pages.every((page) => page.text.length <= PAGE_UNITS && page.text.trim() !== "")).toBe(true);
      }),
      RUNS,
    );
  });

  it("of a program that draws again, each row is one that the terminal had, in its order", () => {
    fc.assert(
      fc.property(output, size, (text, size) => {
        const { shown, lines } = compare(text, size);
        let at = 0;
        for (const row of shown.filter((row) => row !== "")) {
          at = lines.indexOf(row, at) + 1;
          expect(at).toBeGreaterThan(0);
        }
        const live = lines.slice(lines.length - screenOf(text, size).live().length);
        expect(shown.slice(shown.length - live.length)).toEqual(live);
      }),
      RUNS,
    );
  });

  function screenOf(text: string, { cols, rows }: { cols: number; rows: number }): Screen {
    const screen = new Screen({ cols, rows });
    screen.write(text);
    return screen;
  }

  /** The rows that the pages show, and all that the terminal had. */
  function compare(
    text: string,
    size: { cols: number; rows: number },
  ): { shown: string[]; lines: string[]; pages: PageView[] } {
    const screen = screenOf(text, size);
    const lines = [...screen.takeSettled(), ...screen.live()].map((line) =>
      cleanRow(withAddresses(line).text),
    );
    const pages = documentOf(text, { ...size, maxBacklogPages: Infinity }).pages();
    const log = pages.filter((page) => page.kind === "log").map((page) => page.text);
    return { shown: joinPages(log).split("\n"), lines, pages };
  }

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
      output: still,
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
          fc.pre(!isRedrawn(text, { cols, rows }));
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
        const lines = [...screen.takeSettled(), ...screen.live()].map((line) =>
          cleanRow(withAddresses(line).text),
        );
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
