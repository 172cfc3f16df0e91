/** Reads `GET /events`, over as many connections as it takes: each event once and in order. */
import { AppError } from "./errors.ts";
import { type EventsQuery, type HubEvent, hubEventSchema, type Reset, resetSchema } from "./hub-events.ts";
import { pause } from "./lifecycle.ts";
import { SseParser } from "./sse.ts";
import { StrangeAnswer } from "./strange-answer.ts";

const FIRST_WAIT_MS = 100;
const LONGEST_WAIT_MS = 5_000;
/** The sidecar gives a sign of life every 15 s; without one the connection is taken for dead. */
const SILENCE_MS = 45_000;
/**
 * Answers that are no sidecar's, one after the other, before they count as a refusal: about a minute. A proxy has a
 * page of its own while the sidecar behind it restarts; a sign-in page stays.
 */
const MAX_STRANGE = 16;

/** One connection. @throws AppError `unavailable` if it can't be had or breaks, or the sidecar's refusal */
export type Connect = (query: EventsQuery, signal: AbortSignal) => AsyncIterable<Uint8Array>;

/** What ends the reading, and what is called once for each time in which no sidecar answers. */
export type FollowHow = [signal?: AbortSignal | undefined, onSilence?: () => Promise<void>];

/**
 * Connects again if the connection breaks or the sidecar restarts, and goes on after the last event that was taken.
 * @throws AppError if the sidecar refuses, or if something else keeps answering in its place
 */
export async function* followEvents(
  connect: Connect,
  query: EventsQuery,
  ...[signal, onSilence = async () => {}]: FollowHow
): AsyncGenerator<HubEvent | Reset, void, undefined> {
  let since = query.since;
  let waitMs = FIRST_WAIT_MS;
  let failures = 0;
  let strange = 0;
  while (!signal?.aborted) {
    const watch = new Silence(signal);
    try {
      const parser = new SseParser();
      const decoder = new TextDecoder();
      const asked = since === undefined ? query : { ...query, since };
      for await (const bytes of connect(asked, watch.signal)) {
        watch.heard();
        waitMs = FIRST_WAIT_MS;
        failures = 0;
        strange = 0;
        for (const { id, type, data } of parser.push(decoder.decode(bytes, { stream: true }))) {
          if (data !== "") {
            // Counted when the reader comes for the next: one that was not taken is read again.
            yield (type === "reset" ? resetSchema : hubEventSchema).parse(JSON.parse(data));
          }
          if (id !== "") since = Number(id);
        }
        if (signal?.aborted) return;
      }
    } catch (error) {
      if (signal?.aborted) return;
      if (!isPassing(error)) throw error;
      strange = error instanceof AppError && error.cause instanceof StrangeAnswer ? strange + 1 : 0;
      if (strange >= MAX_STRANGE) throw error;
      failures += 1;
      if (failures === 1) await onSilence();
    } finally {
      watch.end();
    }
    await pause(waitMs, signal);
    waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS);
  }
}

function isPassing(error: unknown): boolean {
  return error instanceof AppError && (error.code === "unavailable" || error.code === "rate_limited");
}

/** Ends a connection on which nothing comes any more. */
class Silence {
  readonly #controller = new AbortController();
  readonly #parent: AbortSignal | undefined;
  readonly #abort = () => this.#controller.abort();
  readonly #timer: NodeJS.Timeout;

  constructor(parent: AbortSignal | undefined) {
    this.#parent = parent;
    this.#timer = setTimeout(this.#abort, SILENCE_MS);
    if (parent?.aborted) this.#abort();
    parent?.addEventListener("abort", this.#abort, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  heard(): void {
    this.#timer.refresh();
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#abort();
    this.#parent?.removeEventListener("abort", this.#abort);
  }
}
