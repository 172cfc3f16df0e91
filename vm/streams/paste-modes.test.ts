import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { knownThreadId } from "../../shared/ids.ts";
import { PasteModes } from "./paste-modes.ts";

const id = knownThreadId.parse("t");
const folder = mkdtempSync(join(tmpdir(), "threadmux-paste-"));
afterAll(() => rmSync(folder, { recursive: true }));

const asks = "\x1b[?2004h";
/** tmux 3.3a framed a paste after each of these, or did not: tried by `paste-buffer -p`. */
test.each<[string, string, boolean]>([
  ["alone", asks, true],
  ["leading zeros", "\x1b[?0002004h", true],
  ["59 bytes of parameters", `\x1b[?${"0".repeat(55)}2004h`, true],
  ["more bytes of parameters than tmux takes", `\x1b[?${"0".repeat(64)}2004h`, false],
  ["the ninth mode", "\x1b[?1;2;3;4;5;6;7;8;2004h", true],
  ["the 24th mode", `\x1b[?${"1;".repeat(23)}2004h`, false],
  ["an empty mode before", "\x1b[?;2004h", true],
  ["a mode with a sub-parameter beside it", "\x1b[?1:2;2004h", true],
  ["a sub-parameter", "\x1b[?2004:1h", false],
  ["control characters inside", "\x1b[?\x07\b;20\r\x7f04h", true],
  ["cancelled", "\x1b[?20\x1804h", false],
  ["begun anew", "\x1b[?20\x1b[?2004h", true],
  ["an intermediate byte", "\x1b[?2004 h", false],
  ["another private mark", "\x1b[>2004h", false],
  ["in a title", "\x1b]0;x\x1b[?2004hy\x07", true],
  ["behind a device's string that says nothing", "\x1bP\x1b[?2004h\x1b\\", true],
  ["wrapped, with more behind it", "\x1bPtmux;\x1b\x1b[?2004h\x1b\x1b[?1h\x1b\\", false],
  ["behind a wrapped end", "\x1bPtmux;\x1b\x1b\\\x1b\\\x1b[?2004h", true],
  ["wrapped for another multiplexer", "\x1bPtmux;\x1b\x1b[?2004h\x1b\\", false],
  ["in a picture's string", "\x1bPq\x1b[?2004h\x1b\\", false],
  ["behind a string that never ended", `\x1bPq ${asks}$ `, true],
  ["behind a string that ended", `\x1bPq\x1b\\${asks}`, true],
  ["taken back", `${asks}\x1b[?1;2004l`, false],
  ["all reset", `${asks}\x1bc`, false],
  ["softly reset", `${asks}\x1b[!p`, true],
  ["another number", "\x1b[?12004h\x1b[?20040h", false],
])("a program that printed %s", async (name, printed, expected) => {
  const file = join(folder, name);
  writeFileSync(file, printed, "latin1");
  expect((await new PasteModes().find(id, file, 0)).asks).toBe(expected);
});

test("a change that two looks cut in two is found", async () => {
  const file = join(folder, "cut");
  const modes = new PasteModes();
  writeFileSync(file, "$ \x1b[?20");
  expect((await modes.find(id, file, 0)).asks).toBe(false);
  writeFileSync(file, "04h", { flag: "a" });
  expect(await modes.find(id, file, 0)).toEqual({
    asks: true,
    changes: [{ asks: true, position: 2 }],
  });
  writeFileSync(file, "x\x1b[?2004l\x1b[?2004h", { flag: "a" });
  expect(await modes.find(id, file, 0)).toEqual({
    asks: true,
    changes: [
      { asks: true, position: 2 },
      { asks: false, position: 11 },
      { asks: true, position: 19 },
    ],
  });
});
