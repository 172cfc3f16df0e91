/** Reading a thread's output as `tail` does: the last lines, and what comes after. */
import type { OutputReply, ThreadStatus } from "../shared/api.ts";
import type { SidecarClient } from "../shared/client.ts";
import { MAX_WAIT_MS } from "../shared/wait.ts";
import { Patience } from "./patience.ts";

const CHUNK_BYTES = 64 * 1024;

export interface Start {
  since: number;
  /** How many lines to leave out there. */
  skipLines: number;
}

/**
 * Where the last `lines` lines of a log begin, found backwards in pieces. Only whole pieces have an offset that is
 * known for certain (bytes that are no UTF-8 read as three), so the rest is said in lines.
 */
export async function findStart(
  client: SidecarClient,
  threadId: string,
  { end, lines }: { end: number; lines: number },
): Promise<Start> {
  const { firstOffset } = await client.readOutput(threadId, { since: end, limit: 1 });
  if (lines === Number.POSITIVE_INFINITY) return { since: firstOffset, skipLines: 0 };
  let missing = lines;
  for (let to = end; to > firstOffset && missing > 0; ) {
    const from = Math.max(firstOffset, to - CHUNK_BYTES);
    const text = await readRange(client, threadId, from, to);
    const ends = text.split("\n").length - 1;
    const count = to === end && text.endsWith("\n") ? ends - 1 : ends;
    if (count >= missing) return { since: from, skipLines: count - missing + 1 };
    missing -= count;
    to = from;
  }
  return { since: lines === 0 ? end : firstOffset, skipLines: 0 };
}

async function readRange(client: SidecarClient, threadId: string, from: number, to: number): Promise<string> {
  let text = "";
  for (let since = from; since < to; ) {
    const reply = await client.readOutput(threadId, { since, limit: to - since });
    if (reply.offset <= since) break; // the start of a character, its rest not there yet
    text += reply.output;
    since = reply.offset;
  }
  return text;
}

/** Leaves out the first `lines` lines of a text that comes in pieces. */
export function createLineSkipper(lines: number): (text: string) => string {
  let left = lines;
  return (text) => {
    let from = 0;
    while (left > 0) {
      const at = text.indexOf("\n", from);
      if (at < 0) return "";
      from = at + 1;
      left -= 1;
    }
    return text.slice(from);
  };
}

/** What is in the log up to `end`. */
export async function* readUntil(
  client: SidecarClient,
  threadId: string,
  since: number,
  end: number,
): AsyncGenerator<OutputReply, void, undefined> {
  for (let position = since; ; ) {
    const reply = await client.readOutput(threadId, {
      since: position,
      limit: Math.max(1, Math.min(CHUNK_BYTES, end - position)),
    });
    yield reply;
    if (!reply.more || reply.offset >= end || reply.offset === position) return;
    position = reply.offset;
  }
}

/**
 * What is in a terminal's log and what comes, until its process has ended; the last reply tells how. A sidecar that
 * goes away is waited for.
 */
export async function* follow(
  client: SidecarClient,
  threadId: string,
  since: number,
  onSilence: () => Promise<void>,
): AsyncGenerator<OutputReply, void, undefined> {
  let position = since;
  let status: ThreadStatus | undefined;
  const patience = new Patience(onSilence);
  for (;;) {
    const query = status === undefined ? {} : { waitMs: MAX_WAIT_MS, status };
    const reply = await patience.call(() =>
      client.readOutput(threadId, { since: position, limit: CHUNK_BYTES, ...query }),
    );
    position = reply.offset;
    const isOver = !reply.processRunning && !reply.more;
    if (reply.output !== "" || isOver) yield reply;
    if (isOver) return;
    status = reply.status;
  }
}
