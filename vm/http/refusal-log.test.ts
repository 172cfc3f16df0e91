import { Writable } from "node:stream";
import { pino } from "pino";
import { afterEach, expect, test } from "vitest";
import { until } from "../../test/support/wait.ts";
import { RefusalLog } from "./refusal-log.ts";

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

function start(intervalMs?: number) {
  const lines: { address?: string; refused: number }[] = [];
  const stream = new Writable({
    write(chunk, _encoding, done) {
      lines.push(JSON.parse(String(chunk)));
      done();
    },
  });
  const refusalLog = new RefusalLog(pino(stream), intervalMs);
  closers.push(() => refusalLog.close());
  return { refusalLog, lines };
}

// Promise: S3
test("one line for many of one address, when the interval is over, and none for a quiet one", async () => {
  const { refusalLog, lines } = start(200);
  for (let i = 0; i < 10_000; i++) refusalLog.note("10.0.0.1");
  expect(lines).toEqual([]);
  await until("the first line", () => lines.length === 1);
  expect(lines[0]).toMatchObject({ address: "10.0.0.1", refused: 10_000 });
  refusalLog.note("10.0.0.1");
  await until("the second line", () => lines.length === 2);
  expect(lines[1]).toMatchObject({ refused: 1 });
  refusalLog.close();
  expect(lines).toHaveLength(2);
});

// Promise: S3
test("of very many addresses the most busy have a line each, the rest has one; no refusal is left out", () => {
  const { refusalLog, lines } = start();
  for (let i = 0; i < 5_000; i++) refusalLog.note(`10.0.${i >> 8}.${i & 255}`);
  for (let i = 0; i < 3; i++) refusalLog.note("10.9.9.9");
  refusalLog.close();
  expect(lines).toHaveLength(51);
  expect(lines[0]).toMatchObject({ address: "10.9.9.9", refused: 3 });
  expect(lines.at(-1)?.address).toBeUndefined();
  expect(lines.reduce((sum, { refused }) => sum + refused, 0)).toBe(5_003);
});
