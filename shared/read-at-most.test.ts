import { expect, test } from "vitest";
import { bodyOf, readAtMost, readTextAtMost } from "./read-at-most.ts";

/** Sends for ever, and tells how many pieces were taken and whether it was ended. */
function endless(bytes: number) {
  const seen = { pieces: 0, isEnded: false };
  async function* pieces() {
    try {
      for (;;) {
        seen.pieces += 1;
        yield new Uint8Array(bytes).fill(97);
      }
    } finally {
      seen.isEnded = true;
    }
  }
  return { seen, pieces: pieces() };
}

async function* of(...pieces: Uint8Array[]) {
  yield* pieces;
}

test("just as many bytes as may come are read, in their order", async () => {
  const read = await readAtMost(of(Buffer.from("ab"), Buffer.alloc(0), Buffer.from("cd")), 4);
  expect(Buffer.from(read ?? []).toString()).toBe("abcd");
  expect(await readAtMost(of(), 0)).toEqual(new Uint8Array());
});

test("one byte more, and nothing is given out", async () => {
  expect(await readAtMost(of(Buffer.from("ab"), Buffer.from("cde")), 4)).toBeUndefined();
  expect(await readAtMost(of(Buffer.from("a")), 0)).toBeUndefined();
});

test("what never ends is ended by the piece that is too much", async () => {
  const { seen, pieces } = endless(1_000);
  expect(await readAtMost(pieces, 10_000)).toBeUndefined();
  expect(seen).toEqual({ pieces: 11, isEnded: true });
});

test("a failure of the sender is the reader's", async () => {
  async function* broken() {
    yield Buffer.from("a");
    throw new Error("the connection broke");
  }
  await expect(readAtMost(broken(), 10)).rejects.toThrow("the connection broke");
});

test("a character that two pieces share is whole", async () => {
  const euro = Buffer.from("€");
  expect(await readTextAtMost(of(euro.subarray(0, 1), euro.subarray(1)), 3)).toBe("€");
  expect(await readTextAtMost(of(euro), 2)).toBeUndefined();
});

test("an answer's body is read in pieces, and cancelled if it is not read to its end", async () => {
  expect(await readTextAtMost(bodyOf(new Response("hello")), 5)).toBe("hello");
  expect(await readTextAtMost(bodyOf(new Response(null)), 5)).toBe("");
  let isCancelled = false;
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    pull: (controller) => controller.enqueue(new Uint8Array(1_000)),
    cancel: () => {
      isCancelled = true;
    },
  });
  expect(await readTextAtMost(bodyOf(new Response(body)), 5_000)).toBeUndefined();
  expect(isCancelled).toBe(true);
});
