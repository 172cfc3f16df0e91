import { describe, expect, it } from "vitest";
import { textChunk } from "../../shared/chunk.ts";
import { seededRandom } from "../../shared/random.ts";
import { Document } from "./document.ts";
import { joinPages } from "./pages.ts";
import { append, documentOf, numbered } from "./testing/documents.ts";

function rowsOf(document: Document): string[] {
  return joinPages(document.pages().map((page) => page.text)).split("\n");
}

function shown(text: string): string[] {
  return rowsOf(documentOf(text));
}

const CLEAR = "\x1b[H\x1b[J\x1b[3J";
const ERASE = "\x1b[H\x1b[2J";

describe("erase scrollback (ED 3)", () => {
  it("empties what came before, as in tmux", () => {
    expect(shown(`${numbered(40)}${CLEAR}new`)).toEqual(["new"]);
    expect(shown(`one\x1b[3J${ERASE}two\x1b[3J${ERASE}three`)).toEqual(["two", "three"]);
  });

  it("erases nothing that is on the screen, and nothing for a full-screen program", () => {
    expect(shown("one\r\ntwo\x1b[3J\r\nthree")).toEqual(["one", "two", "three"]);
    const document = documentOf(`${numbered(40)}\x1b[?1049h\x1b[H\x1b[J\x1b[3J\x1b[?1049l`);
    expect(rowsOf(document)).toHaveLength(40);
  });

  it("leaves what stands above a person's message", () => {
    for (const clear of [CLEAR, `\x1b[3J${ERASE}`]) {
      const document = documentOf(`${numbered(40)}$ `);
      document.breakPage();
      append(document, `clear\r\n${clear}$ `);
      expect(rowsOf(document)).toEqual([...numbered(40).trimEnd().split("\r\n"), "$ clear", "$"]);
      expect(document.pages()[0]?.isSealed).toBe(true);
    }
  });

  it("leaves pages that are full", () => {
    const document = documentOf(`${numbered(400)}${CLEAR}new`);
    expect(document.pages().map((page) => page.isSealed)).toEqual([true, false]);
    expect(rowsOf(document).at(0)).toBe("line 0");
    expect(rowsOf(document).at(-1)).toBe("new");
    expect(joinPages([document.pages().at(-1)?.text ?? ""])).toBe("new");
  });
});

describe("a screen that is cleared", () => {
  it("stays if what comes next is another text", () => {
    const steps = ["Step one: fetch\r\nall fetched", "Building\r\n12 files", "Done in a minute"];
    expect(shown(steps.join(ERASE))).toEqual(steps.flatMap((step) => step.split("\r\n")));
  });

  it("gives way to the same picture with other numbers", () => {
    const picture = (n: number) =>
      `load ${n}.${n % 7}\r\nweb ${n} %\r\ndb ${(n * 7) % 50} %\r\n[${"#".repeat(n)}]`;
    const log = [1, 2, 3].map(picture).join(ERASE);
    expect(shown(`before\r\n${log}`)).toEqual(["before", ...picture(3).split("\r\n")]);
  });

  it("stays if the numbers of its list go on: that is a log", () => {
    const lines = (from: number, count: number) =>
      Array.from({ length: count }, (_, index) => `request ${from + index} ok\r\n`).join("");
    for (const count of [10, 40]) {
      const log = [0, 1, 2, 3, 4].map((part) => lines(part * count, count)).join(ERASE);
      const rows = shown(log);
      if (count > 24)
        expect(rows).toEqual(
          lines(0, 5 * count)
            .trimEnd()
            .split("\r\n"),
        );
      // Short ones are pictures from the fourth on, whatever they say.
      else
        expect(rows.slice(0, 2 * count)).toEqual(
          lines(0, 2 * count)
            .trimEnd()
            .split("\r\n"),
        );
    }
  });

  it("stays if the program ends with clearing it", () => {
    const picture = (n: number) => `load ${n}\r\nweb ${n} %\r\ndb ${n} %`;
    const log = `${[1, 2, 3, 4, 5].map(picture).join(ERASE)}${ERASE}`;
    expect(shown(log)).toEqual(picture(5).split("\r\n"));
    expect(shown(`${log}$ `)).toEqual([...picture(5).split("\r\n"), "$"]);
    const document = documentOf(`${log}$ `);
    document.breakPage();
    append(document, "ls\r\nfile\r\n");
    expect(rowsOf(document)).toEqual([...picture(5).split("\r\n"), "$ ls", "file"]);
  });

  it("is not seen empty between two pictures", () => {
    const document = documentOf(`a\r\nb\r\nc${ERASE}`);
    expect(rowsOf(document)).toEqual(["a", "b", "c"]);
  });

  it("stays on its page if the message has grown too old, and the next picture begins another", () => {
    const picture = (n: number) => `load ${n}\r\nweb ${n} %\r\ndb ${n} %\r\n`;
    const document = documentOf(`before\r\n${[1, 2, 3].map(picture).join(ERASE)}`);
    document.breakPage("screen");
    append(document, ERASE + picture(4));
    const [old, live, ...others] = document.pages();
    expect([old?.isSealed, live?.isSealed, others]).toEqual([true, false, []]);
    expect([old, live].map((page) => joinPages([page?.text ?? ""]))).toEqual([
      "before",
      picture(4).replaceAll("\r", "").trimEnd(),
    ]);
  });
});

it("loses no line of a program that prints on, and clears its screen now and then", () => {
  for (let seed = 1; seed <= 25; seed++) {
    const random = seededRandom(seed);
    const document = documentOf("", { maxBacklogPages: 1_000 });
    for (let n = 1; n <= 140; n++) {
      append(document, `\rd ${n}: 20%\rd ${n}: 100%\r\n`);
      if (n % 5 === 0) append(document, `${String(n).padStart(200, "0")} 日本語\r\n`);
      if (n % 9 === 0) append(document, "``` **not bold**\r\n\r\n");
      if (n % 23 === 0) append(document, ERASE);
      if (n % 31 === 0) append(document, `\x1b[?1049h\x1b[Hfull screen ${n}\x1b[?1049l`);
      if (random() < 0.05) document.breakPage();
      if (random() < 0.02) document.breakPage("screen");
    }
    const lines = rowsOf(document).filter((row) => /^d \d+: 100%$/.test(row));
    expect([seed, lines]).toEqual([seed, Array.from({ length: 140 }, (_, index) => `d ${index + 1}: 100%`)]);
  }
});

describe("a program that goes back to the top", () => {
  const requests = (step: (n: number) => string) =>
    Array.from({ length: 200 }, (_, n) => `request ${n} ok\r\n${step(n)}`).join("");
  const isRequest = (row: string) => /^request \d+ ok$/.test(row);

  it("loses nothing of a log that scrolls below a head line", () => {
    const log = `\x1b[2;24r\x1b[24;1H${requests((n) => `\x1b[s\x1b[H${n} requests\x1b[u`)}`;
    expect(shown(log).filter(isRequest)).toHaveLength(200);
  });

  it("loses nothing of a log if it draws nothing there", () => {
    expect(shown(requests(() => "\x1b7\x1b[H\x1b8"))).toHaveLength(200);
  });

  it("loses nothing that is printed above a picture at the bottom, however much at once", () => {
    const picture = (n: number) =>
      Array.from({ length: 6 }, (_, row) => `task ${row}: ${n * row} %\r\n`).join("");
    const random = seededRandom(3);
    let [count, log, inRegion] = [0, picture(0), "\r\n".repeat(24)];
    for (let n = 1; n <= 60; n++) {
      const lines = Array.from(
        { length: Math.floor(random() * 45) },
        () => `GET /${++count % 7} ${count} 200`,
      );
      log += `\x1b[6A\x1b[J${lines.map((line) => `${line}\r\n`).join("")}${picture(n)}`;
      // The program keeps its picture below the scrolling margins.
      inRegion += `\x1b[1;18r\x1b[18;1H${lines.map((line) => `\r\n${line}`).join("")}\x1b[r\x1b[19;1H${picture(n).trimEnd()}`;
    }
    for (const text of [log, inRegion]) {
      const document = documentOf(text, { maxBacklogPages: 1_000 });
      const numbers = rowsOf(document).flatMap((row) => /^GET \/\d (\d+) 200$/.exec(row)?.[1] ?? []);
      expect(numbers.map(Number)).toEqual(Array.from({ length: count }, (_, index) => index + 1));
    }
  });

  it("shows a picture that is a few rows higher than the screen once", () => {
    const picture = (n: number) =>
      `time ${n}:${n % 60}\x1b[K\r\n${Array.from({ length: 26 }, (_, row) => `row ${row}: ${row * n}\x1b[K\r\n`).join("")}`;
    const log = Array.from({ length: 50 }, (_, n) => picture(n)).join("\x1b[27A\r");
    expect(shown(log)).toEqual(picture(49).replaceAll("\x1b[K", "").trimEnd().split("\r\n"));
  });
});

it("text that goes on after a clearing becomes full pages as ever", () => {
  const document = documentOf(`hello${ERASE}`, { maxBacklogPages: 100 });
  for (let n = 0; n < 100; n++) append(document, numbered(50));
  const plain = documentOf(`hello\r\n${numbered(50).repeat(100)}`, { maxBacklogPages: 100 });
  expect(rowsOf(document)).toEqual(rowsOf(plain));
  expect(document.pages().filter((page) => page.isSealed).length).toBeGreaterThan(10);
});

it("a picture that is held comes back from the mark", () => {
  const log = `before\r\n${[1, 2, 3, 4].map((n) => `load ${n}\r\n${numbered(30)}`).join(ERASE)}`;
  for (let cut = 1; cut < log.length; cut += 43) {
    let document = new Document({ cols: 80, rows: 24 });
    document.feed(textChunk(log.slice(0, cut), cut));
    const mark = document.mark();
    document = mark
      ? Document.restore(JSON.parse(JSON.stringify(mark)))
      : new Document({ cols: 80, rows: 24 });
    document.feed(textChunk(log.slice(document.offset), log.length));
    expect(rowsOf(document)).toEqual(shown(log));
  }
});

describe("a picture of a hundred rows, drawn for a minute on a screen of twenty-four", () => {
  const picture = (n: number) =>
    Array.from({ length: 100 }, (_, row) => `service-${row} ${n * row} ${(n + row) % 100} %\x1b[K\r\n`).join(
      "",
    );
  it.each([
    ["home", "\x1b[H"],
    ["erased", "\x1b[H\x1b[2J"],
    ["erased below", "\x1b[H\x1b[J"],
    ["upwards", "\x1b[100A"],
  ])("%s: it is two messages and stands there once", (_, back) => {
    const document = documentOf(`before\r\n${picture(0)}`);
    for (let n = 1; n < 60; n++) append(document, back + picture(n));
    const rows = rowsOf(document);
    expect(document.pageCount).toBeLessThanOrEqual(3);
    expect(rows.filter((row) => /^service-1 /.test(row))).toHaveLength(1);
    expect(rows.at(-1)).toMatch(/^service-99 5841 /);
  });
});

it.each([
  ["scrolls up", (line: string) => `\x1b[5;18r\x1b[S\x1b[18;1H${line}\x1b[K\x1b[r`],
  ["scrolls down", (line: string) => `\x1b[5;18r\x1b[T\x1b[5;1H${line}\x1b[K\x1b[r`],
  ["goes up beyond the margin", (line: string) => `\x1b[5;18r\x1b[5;1H\x1bM${line}\x1b[K\x1b[r`],
  ["inserts lines", (line: string) => `\x1b[5;1H\x1b[L${line}\x1b[K`],
  ["deletes lines", (line: string) => `\x1b[5;1H\x1b[M\x1b[18;1H${line}\x1b[K`],
])(
  "a program that %s inside a region for a minute is at most three messages, no row of it twice",
  (_, step) => {
    const document = documentOf(`\x1b[H\x1b[2J${numbered(20)}`);
    for (let n = 0; n < 60; n++) append(document, step(`event ${n} at ${n * 3} s`));
    const rows = rowsOf(document);
    expect(document.pageCount).toBeLessThanOrEqual(3);
    const events = rows.filter((row) => row.startsWith("event"));
    expect(new Set(events).size).toBe(events.length);
    const heads = rows.filter((row) => /^line [0-3]$/.test(row));
    expect(heads).toEqual(["line 0", "line 1", "line 2", "line 3"]);
  },
);
