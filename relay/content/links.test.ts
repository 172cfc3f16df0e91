import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { textChunk } from "../../shared/chunk.ts";
import { Document } from "./document.ts";
import { joinPages } from "./pages.ts";
import { cut, places, RUNS } from "./testing/programs.ts";

const link = (text: string, address: string, params = "") =>
  `\x1b]8;${params};${address}\x1b\\${text}\x1b]8;;\x1b\\`;

function feed(text: string, size = { cols: 40, rows: 6 }, isAnsi = false): Document {
  const document = new Document({ ...size, isAnsi });
  document.feed(textChunk(text, Buffer.byteLength(text)));
  return document;
}

const textsOf = (document: Document) => document.pages().map((page) => page.text);
const shown = (text: string, size?: { cols: number; rows: number }) => joinPages(textsOf(feed(text, size)));

describe("a link's address", () => {
  it("stands behind the row of its text", () => {
    expect(shown(`see ${link("the docs", "https://a.example/x?y=1")}, please`)).toBe(
      "see the docs, please (https://a.example/x?y=1)",
    );
    expect(shown(`\x1b]8;;mailto:a@b.example\x07write\x1b]8;;\x07\r\nbye`)).toBe(
      "write (mailto:a@b.example)\nbye",
    );
    expect(shown(`${link("one", "http://a.example")} ${link("two", "http://b.example/;z")}`)).toBe(
      "one two (http://a.example) (http://b.example/;z)",
    );
  });

  it("is left out if the text tells it", () => {
    for (const [text, address] of [
      ["https://a.example/x", "https://a.example/x"],
      ["https://a.example", "https://a.example/"],
      ["a@b.example", "mailto:a@b.example"],
      ["read me.txt", "file://host/home/u/read%20me.txt"],
      ["/home/u/notes", "file://host/home/u/notes"],
    ] as const) {
      expect(shown(link(text, address))).toBe(text);
    }
    expect(shown(link("https://a.example", "https://a.example.evil.example/"))).toBe(
      "https://a.example (https://a.example.evil.example/)",
    );
    expect(shown(link("me.txt", "file://host/home/u/read%20me.txt"))).toContain("(file://");
  });

  it("is told once of a link over several rows, and of one in row after row", () => {
    const size = { cols: 10, rows: 6 };
    expect(shown(link("abcdefghij".repeat(2), "https://a.example"), size)).toBe(
      "abcdefghij\nabcdefghij (https://a.example)",
    );
    expect(shown(link("https://a.example/long", "https://a.example/long"), size)).toBe(
      "https://a.\nexample/lo\nng",
    );
    const rows = Array.from({ length: 50 }, (_, i) => `${i} ${link("doc", "https://a.example", "id=1")}\r\n`);
    expect(shown(rows.join("")).match(/https:/g)).toHaveLength(1);
  });

  it("follows its text: redrawn once, erased not at all, scrolled away as it was", () => {
    const address = "https://a.example";
    const frame = `\x1b[H\x1b[2J${link("status", address)}\r\nline two\r\nline three\r\n`;
    expect(shown(frame.repeat(20)).match(/https:/g)).toHaveLength(1);
    expect(shown(`${link("gone", address)}\r\x1b[Kplain`)).toBe("plain");
    const plain = Array.from({ length: 30 }, (_, i) => `${i}\r\n`).join("");
    expect(shown(`${link("up", address)}\r\n${plain}`)).toContain(`up (${address})\n0\n`);
    // The end of a link that the program leaves out ends nothing else.
    expect(shown(`\x1b]8;;${address}\x07open\r\n${plain}`)).toContain("29 (https://a.example)");
  });

  it("does no harm", () => {
    expect(shown(link("x", "https://a.example/```\n@everyone\u202e")).replaceAll("`", "")).toBe(
      "x (https://a.example/@everyone%E2%80%AE)",
    );
    for (const page of textsOf(feed(link("x", "https://a.example/````\ud83d")))) {
      expect(page.slice(4, -4)).not.toContain("``");
    }
    for (const address of ["javascript:alert(1)", "vscode://x", "//a.example", "data:text/html,x", ""]) {
      expect(shown(link("text", address))).toBe("text");
    }
    const long = shown(link("x", `https://a.example/${"y".repeat(50_000)}`));
    expect(long.length).toBeLessThan(320);
    expect(long).toMatch(/y…\)$/);
    const many = Array.from({ length: 39 }, (_, i) => link("x", `https://a.example/${i}`)).join("");
    expect(shown(many)).toMatch(/^x{39} \(.*4\) \(and 34 more links\)$/);
  });

  it("stands in full-screen pictures and behind colours", () => {
    const picture = feed(`\x1b[?1049h\x1b[H${link("docs", "https://a.example")}`).pages();
    expect(picture.at(-1)?.text).toContain("docs (https://a.example)");
    const [page] = textsOf(feed(`\x1b[31m${link("docs", "https://a.example")}`, undefined, true));
    expect(page).toContain("\x1b[31mdocs\x1b[0m (https://a.example)");
  });

  it("is the same however the text is cut, and from a mark", () => {
    const part = fc.oneof(
      fc.constantFrom(
        "a",
        "bc ",
        "日",
        "\r\n",
        "\r\n",
        "\x1b[H",
        "\x1b[2J",
        "\x1b7",
        "\x1b8",
        "\x1b[m",
        "\x1bM",
      ),
      fc.constantFrom("\x1b[4:3m", "\x1b[31m", "\x1bc", "\x1b[K", "\x1b[5b", "\x1b[?1049h", "\x1b[?1049l"),
      fc.constantFrom("", "https://a.example", "http://b", "https://abc").map((a) => `\x1b]8;;${a}\x07`),
    );
    const size = { cols: 10, rows: 4 };
    fc.assert(
      fc.property(fc.array(part, { maxLength: 60 }), places, fc.boolean(), (parts, at, isAnsi) => {
        const text = parts.join("");
        const whole = feed(text, size, isAnsi);
        let pieces = new Document({ ...size, isAnsi });
        let bytes = 0;
        for (const piece of cut(text, at)) {
          bytes += Buffer.byteLength(piece);
          pieces.feed(textChunk(piece, bytes));
          const mark = pieces.mark(Infinity);
          if (mark?.offset === bytes) pieces = Document.restore(JSON.parse(JSON.stringify(mark)), { isAnsi });
        }
        expect(textsOf(pieces)).toEqual(textsOf(whole));
      }),
      RUNS,
    );
  });
});
