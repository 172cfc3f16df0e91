import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { makeSidecarFolders } from "../../test/support/sidecar.ts";
import {
  type ControlEvent,
  ControlParser,
  hexKeys,
  isTmuxAtLeast,
  parseTmuxVersion,
  quoteArg,
  quoteCommand,
} from "./protocol.ts";

describe("the parser of control mode", () => {
  const STREAM = [
    "%begin 1700000000 1 0", // the attach itself
    "%end 1700000000 1 0",
    "%session-changed $0 _ctl",
    "%begin 1700000001 2 1",
    "a line",
    "%sessions-changed in a reply is only text",
    "%end 1700000001 3 1", // another's number
    "%begin 1700000001 2 1",
    "",
    "日本 👩‍👧 \x1b[31m",
    "%end 1700000001 2 1",
    "%sessions-changed",
    "%begin 1700000002 4 1",
    "can't find pane: %9",
    "%error 1700000002 4 1",
    "%begin 1700000003 5 1",
    "%end 1700000003 5 1",
    "%exit",
    "",
  ].join("\n");
  const EVENTS: ControlEvent[] = [
    { kind: "notification", line: "%session-changed $0 _ctl" },
    {
      kind: "reply",
      isError: false,
      lines: [
        "a line",
        "%sessions-changed in a reply is only text",
        "%end 1700000001 3 1",
        "%begin 1700000001 2 1",
        "",
        "日本 👩‍👧 \x1b[31m",
      ],
    },
    { kind: "notification", line: "%sessions-changed" },
    { kind: "reply", isError: true, lines: ["can't find pane: %9"] },
    { kind: "reply", isError: false, lines: [] },
    { kind: "notification", line: "%exit" },
  ];
  const bytes = Buffer.from(STREAM);

  const parse = (chunks: Buffer[]) => {
    const parser = new ControlParser();
    return chunks.flatMap((chunk) => [...parser.push(chunk)]);
  };

  test("gives replies and notifications", () => {
    expect(parse([bytes])).toEqual(EVENTS);
  });

  test("gives the same wherever the stream is split", () => {
    for (let i = 0; i <= bytes.length; i++) {
      expect(parse([bytes.subarray(0, i), bytes.subarray(i)])).toEqual(EVENTS);
    }
    expect(parse([...bytes].map((byte) => Buffer.from([byte])))).toEqual(EVENTS);
  });

  test("gives the same in any pieces", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(bytes.length), { maxLength: 20 }), (cuts) => {
        const ends = [...cuts.sort((a, b) => a - b), bytes.length];
        const chunks = ends.map((end, i) => bytes.subarray(ends[i - 1] ?? 0, end));
        expect(parse(chunks)).toEqual(EVENTS);
      }),
    );
  });
});

describe("a sealed reply", () => {
  const SEAL = "00000000-0000-4000-8000-000000000000";
  /** As a client that asked for two replies, the second sealed. */
  const parse = (stream: Buffer, cuts: number[]) => {
    let replies = 0;
    const parser = new ControlParser(() => (replies === 1 ? SEAL : undefined));
    const ends = [...cuts.sort((a, b) => a - b), stream.length];
    const events: ControlEvent[] = [];
    for (const [i, end] of ends.entries()) {
      for (const event of parser.push(stream.subarray(ends[i - 1] ?? 0, end))) {
        if (event.kind === "reply") replies += 1;
        events.push(event);
      }
    }
    return events;
  };

  // Promise: S19
  test("ends nowhere but before its seal, whatever is in it, wherever it is split", () => {
    const number = fc.integer({ min: 6, max: 9 });
    const guard = fc
      .tuple(
        fc.constantFrom("begin", "end", "error"),
        fc.constantFrom(100, 101),
        number,
        fc.constantFrom(0, 1),
      )
      .map(([word, second, n, flags]) => `%${word} ${second} ${n} ${flags}`);
    const notification = fc.constantFrom("%sessions-changed", "%exit", "%unlinked-window-close @7");
    const text = fc.string({ unit: "grapheme", maxLength: 20 }).map((line) => line.replaceAll("\n", ""));
    fc.assert(
      fc.property(
        fc.array(fc.oneof(guard, notification, text), { maxLength: 30 }),
        fc.array(notification, { maxLength: 3 }),
        fc.constantFrom("end", "error"),
        fc.array(fc.nat(), { maxLength: 10 }),
        (body, between, word, cuts) => {
          const stream = Buffer.from(
            [
              ...["%begin 100 6 1", "state", "%end 100 6 1"],
              ...["%begin 100 7 1", ...body, `%${word} 100 7 1`, ...between],
              ...["%begin 100 8 1", SEAL, "%end 100 8 1", "%sessions-changed", ""],
            ].join("\n"),
          );
          const events = parse(
            stream,
            cuts.map((cut) => cut % stream.length),
          );
          expect(events).toEqual([
            { kind: "reply", isError: false, lines: ["state"] },
            { kind: "reply", isError: word === "error", lines: body },
            ...between.map((line) => ({ kind: "notification", line })),
            { kind: "reply", isError: false, lines: [SEAL] },
            { kind: "notification", line: "%sessions-changed" },
          ]);
        },
      ),
    );
  });
});

describe("an argument, quoted and read by tmux,", () => {
  const folders = makeSidecarFolders();
  afterAll(() => folders.close());

  /** What `set-buffer` got, through the control client of a real tmux. */
  async function throughTmux(values: string[]): Promise<string[]> {
    const out = (i: number) => join(folders.path, `out-${i}`);
    await promisify(execFile)("mkdir", ["-p", folders.stateDir]);
    await folders.tmux(
      "start-server",
      ";",
      "set",
      "-s",
      "exit-empty",
      "off",
      ";",
      "new-session",
      "-d",
      "-s",
      "_ctl",
    );
    const lines = values.flatMap((value, i) => [
      quoteCommand(["set-buffer", "-b", `b${i}`, "--", value]),
      quoteCommand(["save-buffer", "-b", `b${i}`, out(i)]),
    ]);
    const running = promisify(execFile)("tmux", [
      ...["-u", "-S", join(folders.stateDir, "tmux.sock"), "-C", "attach-session", "-t", "=_ctl:"],
    ]);
    running.child.stdin?.end(`${lines.join("\n")}\n`);
    const { stdout } = await running;
    expect(stdout).not.toContain("%error");
    return values.map((_, i) => readFileSync(out(i), "utf8"));
  }

  test("is what it was: every byte from 1 to 255, and what tmux, a shell or C would read as more", async () => {
    const ascii = Array.from({ length: 127 }, (_, i) => String.fromCharCode(i + 1));
    const values = [
      ascii.join(""),
      ...ascii,
      ...ascii.map((char) => `a${char}`),
      Array.from({ length: 0x800 }, (_, i) => String.fromCodePoint(i + 1)).join(""), // every byte of UTF-8's tails
      "\u{10ffff}\u{1f600}\ufffd",
      "foo;",
      "foo\\;",
      "$HOME $(id) #{pane_id} #(id) %H",
      "\\101 \\n \\u0041",
      "~/x {a} %if 1",
      "x".repeat(100_000),
    ];
    expect(await throughTmux(values)).toEqual(values);
  });

  test("can't hold a NUL", () => {
    expect(() => quoteArg("a\0")).toThrow("NUL");
  });

  test("is left as it is where it is plain, and may be empty", () => {
    expect(quoteCommand(["kill-session", "-t", "=thread-1"])).toBe("kill-session -t =thread-1");
    expect(quoteArg("")).toBe('""');
    expect(quoteArg("a b")).toBe('"\\141\\040\\142"');
  });
});

test("keys are written in hexadecimal", () => {
  expect(hexKeys(Buffer.from("a\0ü\r"))).toBe("61 0 c3 bc d");
});

describe("tmux's version", () => {
  test.each([
    ["tmux 3.3a", [3, 3, 1]],
    ["tmux 3.2", [3, 2, 0]],
    ["tmux next-3.7", [3, 7, 0]],
    ["tmux 10.12c\n", [10, 12, 3]],
    ["tmux master", undefined],
  ])("%j", (text, version) => expect(parseTmuxVersion(text)).toEqual(version));

  test.each([
    ["tmux 3.2a", "3.2a", true],
    ["tmux 3.2", "3.2a", false],
    ["tmux 3.1c", "3.2a", false],
    ["tmux 2.9", "3.2a", false],
    ["tmux 3.10", "3.2a", true],
    ["tmux 4.0", "3.2a", true],
    ["tmux 3.6b", "3.7", false],
    ["tmux 3.7", "3.7", true],
    ["tmux master", "3.7", true],
  ])("%s is at least %s: %s", (text, least, expected) => expect(isTmuxAtLeast(text, least)).toBe(expected));
});
