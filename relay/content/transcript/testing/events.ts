/** Transcripts of a few events, and what a thread shows of them. */
import type { EventBody, ThreadEvent } from "../../../../shared/agent/events.ts";
import type { Page } from "../../content.ts";
import { TranscriptContent, type TranscriptMark } from "../content.ts";

export const STARTER = "123456789012345678";
export const at = (seq: number) => new Date(1_795_000_000_000 + seq * 1_000).toISOString();

export function numbered(bodies: readonly EventBody[], from = 1): ThreadEvent[] {
  return bodies.map(
    (body, i) => ({ ...body, seq: from + i, id: `r${from + i}.0`, ts: at(from + i) }) as ThreadEvent,
  );
}

/** For few events: many are not all taken at once. */
export function feed(content: TranscriptContent, events: readonly ThreadEvent[]): void {
  void feedLong(content, events);
}

export function feedLong(content: TranscriptContent, events: readonly ThreadEvent[]): Promise<void> {
  const lines = events.map((event) => `${JSON.stringify(event)}\n`).join("");
  const start = content.offset;
  const offset = start + Buffer.byteLength(lines);
  const rest = { more: false, end: offset, status: "running", problem: null, live: null } as const;
  return content.accept({ lines, start, offset, ...rest });
}

/** {@link show} of any number of events. */
export async function showLong(bodies: readonly EventBody[]): Promise<Page[]> {
  const content = new TranscriptContent({ starter: STARTER });
  await feedLong(content, numbered(bodies));
  return [...content.pages()];
}

/** Feeds the events that the content has not read: those from its offset on. For few events. */
export function feedRest(content: TranscriptContent, events: readonly ThreadEvent[]): void {
  void feedRestLong(content, events);
}

function feedRestLong(content: TranscriptContent, events: readonly ThreadEvent[]): Promise<void> {
  let byte = 0;
  const wanted = events.filter((event) => {
    const isUnread = byte >= content.offset;
    byte += Buffer.byteLength(JSON.stringify(event)) + 1;
    return isUnread;
  });
  return feedLong(content, wanted);
}

/** What each message shows, by its key. */
export type Shown = Map<string, { text: string; buttons: string[] }>;

/** What a delivery does without delay: all that is wanted stands there, and what is sealed is confirmed. */
export function deliver(content: TranscriptContent, to: Shown): void {
  const pages = content.pages();
  for (const { key, presence, text, buttons } of pages) {
    if (presence === "unwanted") to.delete(key);
    else if (presence === "wanted" || to.has(key))
      to.set(key, { text: text || (to.get(key)?.text ?? ""), buttons: buttons.map(({ id }) => id) });
  }
  content.confirm(pages.filter(({ isSealed }) => isSealed).map(({ key }) => key));
}

/** Makes the content as the next process has it. For few events. */
export function restart(content: TranscriptContent, events: readonly ThreadEvent[]): TranscriptContent {
  const next = nextOf(content);
  feedRest(next, events);
  return next;
}

/** {@link restart} of any number of events. */
export async function restartLong(
  content: TranscriptContent,
  events: readonly ThreadEvent[],
  keys: readonly string[] = [],
): Promise<TranscriptContent> {
  const next = nextOf(content, keys);
  await feedRestLong(next, events);
  return next;
}

/** @param keys of the messages that are there */
function nextOf(content: TranscriptContent, keys: readonly string[] = []): TranscriptContent {
  const mark = JSON.parse(JSON.stringify(content.mark())) as TranscriptMark;
  return new TranscriptContent({ starter: STARTER, mark, keys });
}

export function show(bodies: readonly EventBody[]): Page[] {
  const content = new TranscriptContent({ starter: STARTER });
  feed(content, numbered(bodies));
  return [...content.pages()];
}

export const texts = (pages: readonly Page[]) => pages.map(({ text }) => text);

export const start: EventBody = { type: "turn_start", turnId: "t1", cause: "message", deliveryIds: ["d1"] };
export const end: EventBody = {
  type: "turn_end",
  turnId: "t1",
  stopReason: "end_turn",
  durationMs: 92_000,
  usage: { inputTokens: 45_000, outputTokens: 200 },
  cost: { amount: 0.2149, currency: "USD" },
};
export const say = (text: string): EventBody => ({ type: "agent_message", messageId: "m", at: "u", text });
export const call = (id: string, name: string, title: string, rawInput: unknown): EventBody => ({
  type: "tool_call",
  toolCallId: id,
  at: "u",
  name,
  title,
  kind: "execute",
  rawInput,
});
export const done = (id: string, more: object = {}): EventBody => ({
  type: "tool_call_update",
  toolCallId: id,
  status: "completed",
  ...more,
});
export const ask = (requestId: string, toolCallId: string, more: object = {}): EventBody => ({
  type: "permission_request",
  requestId,
  toolCallId,
  toolName: "Bash",
  callKey: "k",
  input: '{"command":"git push"}',
  title: "Bash git push",
  options: [
    { optionId: "once", name: "Allow once", kind: "allow_once" },
    { optionId: "no", name: "Deny", kind: "reject_once" },
  ],
  ...more,
});
