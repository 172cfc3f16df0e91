/** `tail` of an agent: its transcript as text for a person, or as events. */
import type { EventOf } from "../../shared/agent/events.ts";
import type { Thread } from "../../shared/api.ts";
import { cleanLine } from "../../shared/clean-text.ts";
import type { SidecarClient } from "../../shared/client.ts";
import type { Context } from "../context.ts";
import { EXIT, exitCodeOfTurn } from "../exit-codes.ts";
import { argumentOf, nameOf } from "../find-thread.ts";
import { onLeave } from "../leave.ts";
import {
  followTranscript,
  readAll,
  readEnd,
  type TranscriptLine,
  type TranscriptPart,
} from "./transcript.ts";
import { TranscriptText } from "./transcript-text.ts";

/** @param lines how many lines of the end, of the text or, as JSON, of the transcript. */
export async function tailAgent(
  context: Context,
  client: SidecarClient,
  thread: Thread,
  { lines, follow }: { lines: number; follow: boolean },
): Promise<number> {
  const printer = new Printer(context, thread, follow);
  const stay = follow ? onLeave(() => {}) : () => {};
  try {
    let last = await printEnd(client, thread.threadId, lines, printer);
    if (!follow) {
      await printer.end(last);
      return EXIT.ok;
    }
    const onSilence = () => context.note("threadmux: the sidecar does not answer; waiting for it");
    for await (const part of followTranscript(client, thread.threadId, last.offset, onSilence)) {
      await printer.print(part.lines, Number.POSITIVE_INFINITY);
      last = part;
    }
    return await printer.finish(last);
  } finally {
    stay();
  }
}

/** @returns the last part, which tells where to go on. */
async function printEnd(
  client: SidecarClient,
  threadId: string,
  lines: number,
  printer: Printer,
): Promise<TranscriptPart> {
  if (lines !== Number.POSITIVE_INFINITY) {
    const part = await readEnd(client, threadId, (found) => printer.countLines(found) >= lines);
    await printer.print(part.lines, lines);
    return part;
  }
  let last: TranscriptPart | undefined;
  for await (const part of readAll(client, threadId)) {
    await printer.print(part.lines, lines);
    last = part;
  }
  if (!last) throw new Error("a transcript without a part");
  return last;
}

class Printer {
  readonly #context: Context;
  readonly #thread: Thread;
  readonly #follows: boolean;
  readonly #text: TranscriptText;
  readonly #events: unknown[] = [];
  #turnEnd: EventOf<"turn_end"> | undefined;

  constructor(context: Context, thread: Thread, follows: boolean) {
    this.#context = context;
    this.#thread = thread;
    this.#follows = follows;
    this.#text = new TranscriptText(argumentOf(thread));
  }

  countLines(lines: readonly TranscriptLine[]): number {
    if (this.#context.isJson) return lines.length;
    const text = new TranscriptText(argumentOf(this.#thread));
    return lines.reduce((sum, { event }) => sum + (event ? text.add(event).length : 0), 0);
  }

  /** Prints the last `max` lines of these. */
  async print(lines: readonly TranscriptLine[], max: number): Promise<void> {
    const { out, isJson } = this.#context;
    for (const { event } of lines) {
      if (event?.type === "turn_start") this.#turnEnd = undefined;
      if (event?.type === "turn_end") this.#turnEnd = event;
    }
    if (isJson) {
      const events = lastOf(lines, max).map(({ json }) => json);
      if (!this.#follows) this.#events.push(...events);
      else for (const event of events) await out.json(event);
      return;
    }
    const shown = lines.flatMap(({ event }) => (event ? this.#text.add(event) : []));
    for (const line of lastOf(shown, max)) await out.line(line);
  }

  /** Ends a look that does not follow: JSON is one document. */
  async end({ status, problem, offset }: TranscriptPart): Promise<void> {
    const { out, isJson } = this.#context;
    const { threadId } = this.#thread;
    if (isJson) await out.json({ threadId, status, problem, offset, events: this.#events });
  }

  /** @returns the exit code: whether the last turn ended well. */
  async finish({ status, problem }: TranscriptPart): Promise<number> {
    const { err, note } = this.#context;
    if (problem !== null) await note(`threadmux: ${cleanLine(problem)}`);
    if (err.isTty) await note(`[${nameOf(this.#thread)}: ${status}]`);
    const hasFailed = status === "failed" || status === "killed";
    return exitCodeOfTurn(this.#turnEnd ?? { stopReason: "end_turn" }, hasFailed);
  }
}

function lastOf<T>(items: readonly T[], max: number): readonly T[] {
  return items.length > max ? items.slice(items.length - max) : items;
}
