import { expect, test } from "vitest";
import type { TranscriptReply } from "../../shared/agent/api.ts";
import { listTurnEnds } from "./turn-ends.ts";

const line = (seq: number, body: object) =>
  JSON.stringify({ seq, id: `r${seq}.0`, ts: "2026-01-01T00:00:00.000Z", ...body });

function sourceOf(lines: readonly string[]) {
  const text = lines.map((one) => `${one}\n`).join("");
  const reply = {
    offset: text.length,
    more: false,
    end: text.length,
    status: "idle",
    problem: null,
    live: null,
  };
  return {
    readTranscript: (start: number): Promise<TranscriptReply> =>
      Promise.resolve({ lines: text.slice(start), start, ...reply } as TranscriptReply),
  };
}

test("torn and foreign lines hide no turn's end", async () => {
  const source = sourceOf([
    line(1, { type: "turn_start", turnId: "t", cause: "message", deliveryIds: [] }),
    '{"seq":2,"type":"agent_mess',
    "not ours",
    '{"type":"turn_end"}',
    line(2, { type: "agent_message", messageId: "m", at: "u", text: "Done." }),
    line(3, { type: "turn_end", turnId: "t", stopReason: "end_turn" }),
  ]);
  expect(await listTurnEnds(source, 0)).toEqual([{ seq: 3, words: "Done." }]);
});

test("a result that does not fit is told below the words", async () => {
  const error = "No valid result (invalid_output): it must be object.";
  const source = sourceOf([
    line(1, { type: "turn_start", turnId: "t", cause: "message", deliveryIds: [] }),
    line(2, { type: "agent_message", messageId: "m", at: "u", text: "Done." }),
    line(3, { type: "turn_end", turnId: "t", stopReason: "end_turn", output: "invalid_output", error }),
  ]);
  expect(await listTurnEnds(source, 0)).toEqual([{ seq: 3, words: `Done.\n⚠️ ${error}` }]);
});
