/** Reading an agent's transcript as `tail` does: its last lines, and what comes after. */
import type { TranscriptQuery, TranscriptReply } from "../../shared/agent/api.ts";
import { parseEvent, type ThreadEvent } from "../../shared/agent/events.ts";
import type { ThreadStatus } from "../../shared/agent/files.ts";
import { MAX_OUTPUT_BYTES } from "../../shared/api.ts";
import type { SidecarClient } from "../../shared/client.ts";
import { pause } from "../../shared/lifecycle.ts";
import { MAX_WAIT_MS } from "../../shared/wait.ts";
import { Patience } from "../patience.ts";

const FIRST_WINDOW_BYTES = 64 * 1024;
/** What an agent writes this moment is news some times a second; nothing here needs it so often. */
const PACE_MS = 300;

/** A line of the transcript; `event` is undefined if this version does not know its type, or it is no event. */
export interface TranscriptLine {
  json: unknown;
  event: ThreadEvent | undefined;
}

/** Where a reading goes on, and what the sidecar knows besides. */
export type TranscriptPart = Pick<TranscriptReply, "offset" | "status" | "problem" | "more" | "live"> & {
  lines: TranscriptLine[];
};

/** One look: whole lines from `since`, none if nothing is there. @throws AppError `not_found` */
function read(
  client: SidecarClient,
  threadId: string,
  since: number,
  { limit = MAX_OUTPUT_BYTES, ...known }: TranscriptQuery = {},
): Promise<TranscriptReply> {
  return client.readTranscript(threadId, { since, limit, ...known });
}

/**
 * The transcript's end, from a line's start: pieces that reach back far enough for `isEnough`, else the whole. The
 * last piece tells where to go on.
 */
export async function readEnd(
  client: SidecarClient,
  threadId: string,
  isEnough: (lines: readonly TranscriptLine[]) => boolean,
): Promise<TranscriptPart> {
  const { end } = await read(client, threadId, 0, { limit: 1 });
  for (let window = FIRST_WINDOW_BYTES; ; window *= 4) {
    const from = Math.max(0, end - window);
    let text = "";
    let last = await read(client, threadId, from);
    for (text = last.lines; last.offset < end && last.more; text += last.lines) {
      last = await read(client, threadId, last.offset);
    }
    // The window may begin in the middle of a line.
    const whole = from === 0 ? text : text.slice(text.indexOf("\n") + 1);
    const lines = parseLines(whole);
    if (from === 0 || isEnough(lines)) return { ...last, lines };
  }
}

/** The whole transcript up to its end now, in pieces. */
export async function* readAll(
  client: SidecarClient,
  threadId: string,
): AsyncGenerator<TranscriptPart, void, undefined> {
  for (let since = 0; ; ) {
    const reply = await read(client, threadId, since);
    yield { ...reply, lines: parseLines(reply.lines) };
    if (!reply.more || reply.offset === since) return;
    since = reply.offset;
  }
}

/**
 * What comes from `since` on, until the agent does nothing by itself and nothing waits for it. While it waits for a
 * person's answer it goes on. A sidecar that goes away is waited for.
 */
export async function* followTranscript(
  client: SidecarClient,
  threadId: string,
  since: number,
  onSilence: () => Promise<void>,
): AsyncGenerator<TranscriptPart, void, undefined> {
  const patience = new Patience(onSilence);
  let position = since;
  let known: TranscriptQuery = {};
  for (;;) {
    const reply = await patience.call(() => read(client, threadId, position, known));
    const { status, live } = reply;
    position = reply.offset;
    known = { waitMs: MAX_WAIT_MS, status, live: live?.updatedAt ?? "none" };
    yield { ...reply, lines: parseLines(reply.lines) };
    if (!reply.more && isOver(status)) return;
    if (reply.lines === "") await pause(PACE_MS);
  }
}

/** Nothing more comes before a person does something. */
function isOver(status: ThreadStatus): boolean {
  return !["running", "waiting", "queued"].includes(status);
}

function parseLines(text: string): TranscriptLine[] {
  const lines = text.split("\n").filter((line) => line !== "");
  return lines.map((line) => {
    try {
      return { json: JSON.parse(line) as unknown, event: parseEvent(line) };
    } catch {
      return { json: { line }, event: undefined }; // a torn or foreign line: the sidecar's log names it
    }
  });
}
