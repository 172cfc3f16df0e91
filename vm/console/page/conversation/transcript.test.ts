import fc from "fast-check";
import { expect, test } from "vitest";
import { Transcript } from "./transcript.ts";

const ts = "2026-01-01T00:00:00.000Z";

/** A file of lines with these many words each, and how the sidecar reads it. */
function makeFile(lengths: readonly number[]) {
  const lines = lengths.map((length, i) => {
    const seq = i + 1;
    const text = `${seq} ${"日本 🚀 x".repeat(length)}`;
    return `${JSON.stringify({ seq, id: `r${seq}.0`, ts, type: "agent_message", messageId: "m", at: "m", text })}\n`;
  });
  const bytes = Buffer.from(lines.join(""));
  const read = (since: number, limit: number) => {
    for (let wanted = Math.min(limit, bytes.length - since); ; wanted *= 2) {
      const part = bytes.subarray(since, since + wanted);
      const length = part.lastIndexOf("\n") + 1;
      if (length === 0 && since + wanted < bytes.length) continue;
      return { lines: part.toString("utf8", 0, length), offset: since + length };
    }
  };
  return { bytes, read };
}

/** Answers that come when the test says so, in whatever order. */
function makeWire(read: (since: number, limit: number) => { lines: string; offset: number }) {
  const waiting: (() => void)[] = [];
  return {
    read: (since: number, limit: number) =>
      new Promise<{ lines: string; offset: number }>((resolve) => {
        waiting.push(() => resolve(read(since, limit)));
      }),
    answer: async (which: number) => {
      waiting.splice(which % Math.max(1, waiting.length), 1)[0]?.();
      await new Promise((resolve) => setImmediate(resolve));
    },
    get count() {
      return waiting.length;
    },
  };
}

function begin(transcript: Transcript, at: number, file: ReturnType<typeof makeFile>): void {
  transcript.begin(at);
  while (transcript.end < file.bytes.length) {
    const { lines, offset } = file.read(transcript.newsSince, 64 * 1024);
    transcript.append(lines, offset);
  }
}

function expectNoHoles(transcript: Transcript, length: number): void {
  let at = 0;
  for (const { from, to } of transcript.blocks) {
    expect(from).toBe(at);
    expect(to).toBeGreaterThan(from);
    at = to;
  }
  expect(at).toBe(length);
}

test("wherever one looks, in whatever order answers come: each event is there once, in its place", async () => {
  const lengths = fc.array(fc.oneof({ weight: 9, arbitrary: fc.nat(80) }, fc.nat(4_500)), {
    minLength: 1,
    maxLength: 300,
    size: "max",
  });
  const looks = fc.array(fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.nat(3), fc.nat(5)), {
    maxLength: 20,
    size: "max",
  });
  await fc.assert(
    fc.asyncProperty(
      lengths,
      fc.double({ min: 0, max: 1, noNaN: true }),
      looks,
      async (sizes, start, all) => {
        const file = makeFile(sizes);
        const wire = makeWire(file.read);
        const transcript = new Transcript(wire.read, () => undefined);
        begin(transcript, Math.floor(file.bytes.length * start), file);
        for (const [place, count, which] of all) {
          const first = Math.floor(place * (transcript.blocks.length - 1));
          transcript.want(first, Math.min(first + count, transcript.blocks.length - 1));
          await wire.answer(which);
          expectNoHoles(transcript, file.bytes.length);
        }
        // At last all of it is looked at, from the end to the start.
        for (let turn = 0; transcript.blocks.some(({ rows }) => !rows); turn++) {
          expect(turn).toBeLessThan(1_000);
          const at = transcript.blocks.findLastIndex(({ rows }) => !rows);
          transcript.want(at, at);
          await wire.answer(turn);
        }
        expectNoHoles(transcript, file.bytes.length);
        const seqs = transcript.blocks.flatMap(({ rows = [] }) => rows.map(({ seq }) => seq));
        expect(seqs).toEqual(sizes.map((_, i) => i + 1));
      },
    ),
    { numRuns: 100 },
  );
});

test("what is far from the eye is forgotten, and comes back as it was", async () => {
  const file = makeFile(Array.from({ length: 4_000 }, (_, i) => (i * 37) % 200));
  const wire = makeWire(file.read);
  const transcript = new Transcript(wire.read, () => undefined);
  begin(transcript, file.bytes.length - 1_000, file);
  const seen = new Map<number, number[]>();
  const loaded = () => transcript.blocks.filter(({ rows }) => rows).length;
  for (const _ of ["down", "again"]) {
    for (let at = 0; at < transcript.blocks.length; at++) {
      transcript.want(at, at);
      while (wire.count > 0) await wire.answer(0);
      const block = transcript.blocks[at];
      const seqs = (block?.rows ?? []).map(({ seq }) => seq);
      expect(seqs.length).toBeGreaterThan(0);
      expect(seen.get(block?.from ?? -1) ?? seqs).toEqual(seqs);
      seen.set(block?.from ?? -1, seqs);
      expect(loaded()).toBeLessThanOrEqual(50);
    }
  }
  expect(transcript.blocks.length).toBeGreaterThan(60);
  expect([...seen.values()].flat()).toEqual(Array.from({ length: 4_000 }, (_, i) => i + 1));
});

test("a result shows in its call's row while both are loaded, in whatever order they come", async () => {
  const call = {
    seq: 1,
    id: "r1.0",
    ts,
    type: "tool_call",
    toolCallId: "c",
    at: "c",
    name: "Bash",
    title: "Bash",
    kind: "execute",
    rawInput: {},
  };
  const filler = Array.from({ length: 40 }, (_, i) => {
    const seq = i + 2;
    return {
      seq,
      id: `r${seq}.0`,
      ts,
      type: "agent_message",
      messageId: "m",
      at: "m",
      text: "x".repeat(50_000),
    };
  });
  const update = { seq: 42, id: "r42.0", ts, type: "tool_call_update", toolCallId: "c", status: "completed" };
  const bytes = Buffer.from([call, ...filler, update].map((event) => `${JSON.stringify(event)}\n`).join(""));
  const read = async (since: number, limit: number) => {
    const part = bytes.subarray(since, since + limit);
    const length = part.lastIndexOf("\n") + 1;
    return { lines: part.toString("utf8", 0, length), offset: since + length };
  };
  const transcript = new Transcript(read, () => undefined);
  transcript.begin(bytes.length - 500);
  const { lines, offset } = await read(transcript.newsSince, 64 * 1024);
  transcript.append(lines, offset);
  const result = transcript.blocks.at(-1)?.rows?.at(-1);
  expect(result).toMatchObject({ seq: 42, isHidden: false });
  transcript.want(0, 0);
  await new Promise((resolve) => setTimeout(resolve));
  const first = transcript.blocks[0]?.rows?.[0];
  expect(first).toMatchObject({ seq: 1, ending: { seq: 42 }, isOpen: false });
  expect(result?.isHidden).toBe(true);
});
