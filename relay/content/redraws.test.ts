import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { textChunk } from "../../shared/chunk.ts";
import { seededRandom } from "../../shared/random.ts";
import { makeFolder } from "../../test/support/folders.ts";
import { Document } from "./document.ts";
import { BLANK_PAGE, joinPages } from "./pages.ts";
import { cut } from "./testing/programs.ts";

const SIZE = { cols: 80, rows: 24 };
const FRAMES = 24;
const SCRIPT = new URL("../../test/fixtures/redraw.sh", import.meta.url).pathname;
/** Each clears or goes back in another way; those with `3J` erase the scrollback. */
const KINDS = [
  "clear",
  "home-erase",
  "erase-home",
  "erase-below",
  "reset",
  "scrollback-first",
  "compiler",
  "scrolled",
  "animation",
  "tall-clear",
  "tall-erase",
  "tall-wide",
  "ink-tall",
  "inline",
  "inline-below",
  "inline-tall",
  "inline-tall-below",
  "moves",
  "moves-tall",
  "over",
  "region",
  "region-origin",
  "middle-tall",
  "middle-row",
  "columns",
  "bar",
];

/** What such a program writes to its terminal. */
async function record(kind: string): Promise<string> {
  const env = { PATH: process.env["PATH"], TERM: "tmux-256color" };
  const { stdout } = await promisify(execFile)(SCRIPT, [kind, String(FRAMES), "0"], { env });
  return stdout.replaceAll("\n", "\r\n");
}

/** A thread's messages after the log has come piece by piece, each page sent and confirmed at once. */
function deliver(log: string, pieces: readonly string[], isKilled: () => boolean): string[] {
  const messages: string[] = [];
  let document = new Document(SIZE);
  const feed = (text: string) => document.feed(textChunk(text, document.offset + Buffer.byteLength(text)));
  for (const piece of pieces) {
    feed(piece);
    if (isKilled()) {
      const until = document.offset;
      const mark = document.mark(3_500);
      document = mark ? Document.restore(mark) : new Document(SIZE);
      document.begin(messages.length);
      feed(Buffer.from(log).subarray(document.offset, until).toString());
    }
    const pages = document.pages();
    for (const { index, text } of pages) messages[index] = text;
    messages.fill(BLANK_PAGE, document.pageCount);
    document.begin(messages.length);
    document.confirm(pages.find(({ isSealed }) => !isSealed)?.index ?? document.pageCount);
  }
  return messages;
}

/** The words of a row, whatever its numbers and bars are. */
function shapeOf(row: string): string {
  return row.replace(/[^a-zA-Z]+/g, " ").trim();
}

describe("a program that draws again and again", () => {
  const folder = makeFolder();
  const tmux = async (...args: string[]): Promise<string> => {
    const socket = join(folder.path, "s");
    const { stdout } = await promisify(execFile)("tmux", ["-S", socket, "-f", "/dev/null", ...args]);
    return stdout;
  };
  const capture = async (kind: string, ...from: string[]): Promise<string[]> =>
    (await tmux("capture-pane", "-p", ...from, "-t", `=${kind}:`))
      .trimEnd()
      .split("\n")
      .map((row) => row.trimEnd());

  beforeAll(async () => {
    await tmux("new-session", "-d", "-s", "keep", "sleep 600");
  });

  afterAll(async () => {
    await tmux("kill-server");
    folder.remove();
  });

  for (const kind of KINDS) {
    it(`${kind}: at most three messages, none twice, nothing lost`, async () => {
      const log = await record(kind);
      const file = join(folder.path, kind);
      writeFileSync(file, log);
      const size = ["-x", String(SIZE.cols), "-y", String(SIZE.rows)];
      await tmux("new-session", "-d", "-s", kind, ...size, `stty raw -echo; cat '${file}'; sleep 600`);
      await expect.poll(() => capture(kind)).toContainEqual(`after: ${kind}`);

      const random = seededRandom(1);
      const places = Array.from({ length: 2 * FRAMES }, () => random());
      const messages = deliver(log, cut(log, places), () => false);
      expect(messages.length).toBeLessThanOrEqual(3);
      const rows = joinPages(messages).trimEnd().split("\n");
      const screen = await capture(kind);
      expect(rows.slice(-screen.length)).toEqual(screen);
      const inTmux = await capture(kind, "-S", "-");
      // Pictures that have nothing in common take the place of each other: only the first ones stay.
      const isOtherEachTime = kind === "compiler" || kind === "animation";
      const kept = isOtherEachTime ? [`before: ${kind}`] : inTmux;
      expect(rows.map(shapeOf)).toEqual(expect.arrayContaining(kept.map(shapeOf)));
      expect(rows.filter((row) => row === `before: ${kind}`).length).toBeLessThanOrEqual(1);
      // The picture stands there once.
      expect(rows.filter((row) => /^(service-1|row 1) /.test(row)).length).toBeLessThanOrEqual(1);
      expect(rows.length).toBeLessThanOrEqual(65);
      // As in tmux, nothing is left of what was erased.
      if (/clear|wide|ink/.test(kind)) expect(rows).toEqual(inTmux);
      // A relay that is killed on the way comes to the same messages.
      expect(deliver(log, cut(log, places), () => random() < 0.1)).toEqual(messages);
    });
  }
});
