import fc from "fast-check";
import { expect, test } from "vitest";
import { boundLine, unboundLine } from "./bound.ts";
import { MAX_LINE_BYTES } from "./jsonl.ts";

function bodies(blobs: { sha256: string; body: Buffer }[]) {
  return (sha256: string) => blobs.find((blob) => blob.sha256 === sha256)?.body.toString("utf8");
}

test("a short line is left as it is", () => {
  const value = { type: "agent_message", text: "hi" };
  expect(boundLine(value)).toEqual({ value, blobs: [] });
});

test("a long string goes to a blob, the line keeps its head and tail and its true length", () => {
  const text = `HEAD${"é".repeat(100_000)}TAIL`;
  const { value, blobs } = boundLine({ type: "tool_call", rawInput: { "a/b": text, other: 1 } });
  expect(value.rawInput["a/b"].startsWith("HEAD")).toBe(true);
  expect(value.rawInput["a/b"].endsWith("TAIL")).toBe(true);
  expect(value.blobs?.["/rawInput/a~1b"]).toEqual({ sha256: blobs[0]?.sha256, bytes: 200_008 });
  expect(unboundLine(value, bodies(blobs)).rawInput["a/b"]).toBe(text);
});

test("a body over the bound keeps head and tail", () => {
  const { value, blobs } = boundLine({ text: `HEAD${"x".repeat(3_000_000)}TAIL` });
  expect(blobs[0]?.body.length).toBeLessThanOrEqual(1024 * 1024);
  expect(blobs[0]?.body.toString()).toMatch(/^HEADx+\n… \d+ bytes left out …\nx+TAIL$/);
  expect(value.blobs?.["/text"]?.bytes).toBe(3_000_008);
});

test("many short strings: what holds them becomes its own JSON, a part of a member before the member", () => {
  const items = Array.from({ length: 30_000 }, (_, i) => `item ${i}`);
  const whole = { rawInput: Object.fromEntries(items.map((item) => [item, 1])), config: { items, other: 1 } };
  const { value, blobs } = boundLine<{ rawInput: unknown; config: object }>(whole);
  expect(value.config).toMatchObject({ other: 1 });
  expect(Object.keys(value.blobs ?? {}).sort()).toEqual(["/config/items", "/rawInput"]);
  const sha256 = value.blobs?.["/rawInput"]?.sha256 ?? "";
  expect(JSON.parse(bodies(blobs)(sha256) ?? "")).toEqual(whole.rawInput);
  const { blobs: _, ...again } = unboundLine(value, bodies(blobs));
  expect(again).toEqual(whole);
});

test("property: every line fits, and what was cut can be made whole", () => {
  const text = fc.oneof(
    fc.string(),
    fc.nat(400).map((n) => "a\n\u0000é".repeat(n * 100)),
  );
  fc.assert(
    fc.property(fc.array(text, { maxLength: 8 }), text, (list, body) => {
      const whole = { type: "x", body, list: list.map((text) => ({ text })) };
      const { value, blobs } = boundLine(whole, Number.POSITIVE_INFINITY);
      expect(Buffer.byteLength(JSON.stringify(value))).toBeLessThanOrEqual(MAX_LINE_BYTES - 100);
      const { blobs: _, ...again } = unboundLine(value, bodies(blobs));
      expect(JSON.stringify(again) === JSON.stringify(whole)).toBe(true); // no diff of megabytes
    }),
    { numRuns: 100 },
  );
});
