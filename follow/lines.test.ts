import { expect, test } from "vitest";
import { Display } from "./display.ts";
import { Lines, plainLine, shownLine } from "./lines.ts";

test("lines are put together from any pieces, and none is longer than its bound", () => {
  const text = `one\n${"ä".repeat(10_000)}\n\nthree`;
  for (const size of [7, 4_096, 100_000]) {
    const lines = new Lines();
    const bytes = Buffer.from(text);
    const found: string[] = [];
    for (let at = 0; at < bytes.length; at += size)
      found.push(...lines.push(bytes.subarray(at, at + size), 0));
    expect(lines.flush(500)).toEqual([]);
    found.push(...lines.flush(1_000));
    expect(found.at(-1)).toBe("three");
    expect(found.join("\n").replace(/ä\nä/, "ää")).toBe(text);
    expect(Math.max(...found.map((line) => Buffer.byteLength(line)))).toBeLessThanOrEqual(16 * 1024);
  }
});

test("a line keeps its colours and tabs, and nothing else that a terminal would act on", () => {
  const line = "a\tb\u001b[1;31mred\u001b[0m \u001b[2J\u001b]52;c;ZXZpbA==\u0007\u001bc\u0000\rx\u202e\r";
  expect(shownLine(line)).toBe("a\tb\u001b[1;31mred\u001b[0m \ufffd\ufffdx\ufffd\u001b[0m");
  expect(plainLine(line)).toBe("a\tbred \ufffd\ufffdx\ufffd");
});

test("another text shows the last lines that hold it, each below its file", () => {
  const display = new Display(null, 2);
  const of = (from: string, ...texts: string[]) => texts.map((text) => ({ from, text }));
  expect(display.add([...of("a", "1 x", "2 x"), ...of("b", "3", "4 x")])).toBe(
    "==> a <==\n1 x\n2 x\n==> b <==\n3\n4 x\n",
  );
  expect(display.setGrep("x")).toBe('── lines that hold "x" ──\n==> a <==\n2 x\n==> b <==\n4 x\n');
  expect(display.add(of("b", "5", "6 x"))).toBe("6 x\n");
  expect(display.setGrep("x")).toBe("");
  expect(display.setGrep(null)).toBe("── all lines ──\n==> b <==\n5\n6 x\n");
});
