import { expect, test } from "vitest";
import type { TranscriptReply } from "../../shared/agent/api.ts";
import { readFrom } from "./transcript-reader.ts";

const line = (seq: number, units: number) =>
  JSON.stringify({
    seq,
    id: `r${seq}.0`,
    ts: "2026-01-01T00:00:00.000Z",
    type: "notice",
    severity: "info",
    title: "x".repeat(units),
  });

/** As the sidecar reads: whole lines from a position, at least one; inside a line, what is left of it comes first. */
function sourceOf(lines: readonly string[]) {
  const file = Buffer.from(lines.map((text) => `${text}\n`).join(""));
  let read = 0;
  return {
    bytes: () => read,
    readTranscript(since: number, limit: number): Promise<TranscriptReply> {
      let end = Math.min(file.length, since + limit);
      const last = file.lastIndexOf("\n", end - 1) + 1;
      end = last > since ? last : file.indexOf("\n", since) + 1 || since;
      read += end - since;
      const reply = { lines: file.toString("utf8", since, end), start: since, offset: end };
      return Promise.resolve({
        ...reply,
        more: end < file.length,
        end: file.length,
        status: "idle",
        problem: null,
        live: null,
      });
    },
  };
}

test("every event is found by its number, whatever stands between, without reading what is before it", async () => {
  const lines: string[] = [];
  for (let seq = 1; seq <= 3_000; seq++) {
    if (seq % 7 === 0) lines.push("not ours", '{"seq":9999999}');
    lines.push(line(seq, seq % 50 === 0 ? 60_000 : 400));
  }
  const all = sourceOf(lines);
  for (const seq of [1, 2, 49, 50, 51, 1_499, 1_500, 2_950, 2_999, 3_000]) {
    const before = all.bytes();
    const { events, isCut } = await readFrom(all, seq, () => true);
    expect(events.map((event) => event.seq)).toEqual([seq]);
    expect(isCut).toBe(false);
    expect(all.bytes() - before).toBeLessThan(3_500_000);
  }
  const { events } = await readFrom(all, 2_990, ({ seq }) => seq === 2_995);
  expect(events.map(({ seq }) => seq)).toEqual([2_990, 2_991, 2_992, 2_993, 2_994, 2_995]);
  expect((await readFrom(all, 3_001, () => true)).events).toEqual([]);
});

test("a part without end is cut, and an empty transcript has none", async () => {
  const long = sourceOf(Array.from({ length: 400 }, (_, i) => line(i + 1, 60_000)));
  const { events, isCut } = await readFrom(long, 1, () => false);
  expect(isCut).toBe(true);
  expect(events.length).toBeLessThan(160);
  expect(await readFrom(sourceOf([]), 1, () => false)).toEqual({ events: [], isCut: false });
});
