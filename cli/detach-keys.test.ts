import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { DetachKeys, parseDetachKeys } from "./detach-keys.ts";

const bytes = (text: string) => Buffer.from(text, "latin1");

describe("parseDetachKeys", () => {
  test.each([
    ["C-b d", "\x02d"],
    ["^]", "\x1d"],
    ["C-\\", "\x1c"],
    ["~ .", "~."],
  ])("%j", (text, expected) => {
    expect(Buffer.from(parseDetachKeys(text))).toEqual(bytes(expected));
  });

  test.each(["", " ", "C-", "bd", "F1", "ü"])("%j is refused by name", (text) => {
    expect(() => parseDetachKeys(text)).toThrow(/^--detach-keys: /);
  });
});

describe("C-b d", () => {
  const push = (...typed: string[]) => {
    const keys = new DetachKeys(parseDetachKeys("C-b d"));
    const results = typed.map((text) => keys.push(bytes(text)));
    return {
      forward: Buffer.concat(results.map(({ forward }) => forward)).toString("latin1"),
      isDetach: results.some(({ isDetach }) => isDetach),
    };
  };

  test("leaves, in one piece or in two; what was typed before it goes on", () => {
    expect(push("ls\x02d")).toEqual({ forward: "ls", isDetach: true });
    expect(push("ls\x02", "d")).toEqual({ forward: "ls", isDetach: true });
  });

  test("C-b alone waits, twice is one, before another key is both", () => {
    expect(push("\x02")).toEqual({ forward: "", isDetach: false });
    expect(push("\x02\x02d")).toEqual({ forward: "\x02d", isDetach: false });
    expect(push("\x02", "x")).toEqual({ forward: "\x02x", isDetach: false });
  });

  test("nothing else is lost or changed, however it comes in pieces", () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 20 })), (pieces) => {
        const typed = pieces.map((piece) => Buffer.from(piece).toString("latin1").replaceAll("\x02", "!"));
        expect(push(...typed)).toEqual({ forward: typed.join(""), isDetach: false });
      }),
    );
  });
});
