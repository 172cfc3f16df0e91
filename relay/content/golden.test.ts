import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { decodeChunk, textChunk } from "../../shared/chunk.ts";
import { makeFolder } from "../../test/support/folders.ts";
import { Document } from "./document.ts";
import { Screen } from "./screen.ts";
import { escapeLog, goldenFile, goldenNames, readRecording, unescapeLog } from "./testing/golden.ts";

const SIZE = { cols: 80, rows: 24 };

const LEAVE = "\x1b[?1049l";

/** The pages in the end, and before the last full-screen program was left. */
function showAll(log: string): string {
  const left = log.lastIndexOf(LEAVE);
  const parts = left < 0 ? [] : [show(documentOf(log.slice(0, left))), "\n=== and after it\n"];
  return [...parts, show(documentOf(log))].join("");
}

function documentOf(log: string): Document {
  const document = new Document(SIZE);
  document.feed(textChunk(log, Buffer.byteLength(log)));
  return document;
}

function show(document: Document): string {
  const parts = document.pages().map((page) => {
    return `--- ${page.kind} ${page.index}${page.isSealed ? ", sealed" : ""}\n${page.text.replaceAll("\u200b", "<200b>")}\n`;
  });
  return `${parts.join("")}--- title: ${document.screen.title}, bells: ${document.screen.bells}\n`;
}

describe("recordings", () => {
  for (const name of goldenNames) {
    it(`${name} comes out as expected`, () => {
      const shown = showAll(readRecording(name));
      // After a change that is meant: UPDATE_GOLDEN=1, then read the diff.
      if (process.env["UPDATE_GOLDEN"] === "1") writeFileSync(goldenFile(name, "expected.txt"), shown);
      expect(shown).toBe(readFileSync(goldenFile(name, "expected.txt"), "utf8"));
    });

    it(`${name} comes out the same through a restart at every tenth byte`, () => {
      const log = Buffer.from(readRecording(name));
      let document = new Document(SIZE);
      for (let end = 10; document.offset < log.length; end += 10) {
        while (end < log.length && ((log[end] ?? 0) & 0xc0) === 0x80) end++;
        document.feed(decodeChunk(log.subarray(document.offset, end), document.offset));
        const mark = document.mark(Infinity);
        if (mark?.offset === document.offset) document = Document.restore(JSON.parse(JSON.stringify(mark)));
      }
      expect(show(document)).toBe(show(documentOf(log.toString())));
    });
  }

  it("are escaped without loss", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (log) => {
        expect(unescapeLog(escapeLog(log))).toBe(log);
      }),
    );
  });
});

describe("beside tmux", () => {
  const folder = makeFolder();
  const socket = join(folder.path, "s");
  const tmux = async (...args: string[]): Promise<string> => {
    const { stdout } = await promisify(execFile)("tmux", ["-S", socket, "-f", "/dev/null", ...args]);
    return stdout;
  };

  beforeAll(async () => {
    await tmux("new-session", "-d", "-s", "keep", "sleep 600");
  });

  afterAll(async () => {
    await tmux("kill-server");
    folder.remove();
  });

  for (const name of goldenNames) {
    it(`${name} looks as in a pane of tmux`, async () => {
      const log = readRecording(name);
      const file = join(folder.path, name);
      writeFileSync(file, log);
      const screen = new Screen(SIZE);
      screen.write(log);
      const live = screen.live().map((line) => line.text);
      const all = [...screen.takeSettled().map((line) => line.text), ...live];
      const command = `stty raw -echo; cat '${file}'; sleep 600`;
      await tmux("new-session", "-d", "-s", name, "-x", String(SIZE.cols), "-y", String(SIZE.rows), command);
      const capture = async (...from: string[]): Promise<string[]> => {
        const text = await tmux("capture-pane", "-p", ...from, "-t", `=${name}:`);
        return text
          .trimEnd()
          .split("\n")
          .map((row) => row.trimEnd());
      };
      const seen = (rows: readonly string[]): string[] => rows.join("\n").trimEnd().split("\n");
      await expect.poll(() => capture()).toEqual(seen(live));
      // tmux throws its history away if a program says so (ED 3). A screen only tells that: see redraws.test.ts.
      if (!log.includes("\x1b[3J")) expect(await capture("-S", "-")).toEqual(seen(all));
    });
  }
});
