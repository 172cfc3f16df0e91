import { beforeEach, expect, test, vi } from "vitest";
import { LargeWrites } from "./large-writes.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  return () => vi.useRealTimers();
});

const ESC = Buffer.from("\x1b");

function make() {
  const calls: string[] = [];
  const writes = new LargeWrites({
    hold: async () => void calls.push("hold"),
    release: async () => void calls.push("release"),
  });
  /** As the writer does, whose terminal takes all. */
  const write = (bytes: Buffer | number) => {
    const piece = typeof bytes === "number" ? Buffer.alloc(bytes, "x") : bytes;
    void writes.before(piece);
    calls.push(String(piece.length));
    writes.wrote(piece.length);
    writes.rest();
  };
  return { writes, calls, write };
}

test("keys pass as they are, however many a person types", () => {
  const { calls, write } = make();
  for (let i = 0; i < 10_000; i++) {
    write(3);
    vi.advanceTimersByTime(5);
  }
  expect(new Set(calls)).toEqual(new Set(["3"]));
});

test("a large write is held, with what follows soon, and let go after it", () => {
  const { calls, write } = make();
  write(60_000);
  vi.advanceTimersByTime(400);
  write(60_000);
  write(1);
  vi.advanceTimersByTime(600);
  expect(calls).toEqual(["hold", "60000", "60000", "1", "release"]);
});

test("many small writes are a large one", () => {
  const { calls, write } = make();
  for (let i = 0; i < 6; i++) write(1_000);
  expect(calls).toEqual(["1000", "1000", "1000", "1000", "hold", "1000", "1000"]);
});

test("a key into a terminal that is full is held too, but for Esc", () => {
  const { writes, calls, write } = make();
  writes.full();
  write(ESC);
  expect(calls).toEqual(["1"]);
  write(3);
  expect(calls).toEqual(["1", "hold", "3"]);
});

test("Esc after a paste waits for nothing but the end of the patience; many of them change it once a second", () => {
  const { calls, write } = make();
  const paste = () => write(60_000);
  paste();
  write(ESC);
  paste();
  write(ESC);
  vi.advanceTimersByTime(400);
  expect(calls).toEqual(["hold", "60000", "release", "1", "hold", "60000", "1"]);
  vi.advanceTimersByTime(600);
  paste();
  write(ESC);
  expect(calls.slice(7)).toEqual(["release", "hold", "60000", "release", "1"]);
});

test("an end lets go, once", async () => {
  const { writes, calls, write } = make();
  write(60_000);
  await writes.end();
  await writes.end();
  vi.advanceTimersByTime(5_000);
  expect(calls).toEqual(["hold", "60000", "release"]);
});
