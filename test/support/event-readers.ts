/** Readers of `GET /events` that go and come again, and what each of them got. */
import { get, type IncomingMessage } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { SidecarClient } from "../../shared/client.ts";
import type { HubEvent, Reset } from "../../shared/hub-events.ts";

type Take = (id: number, name: string) => void;
/** One connection, until `signal` fires or it breaks. */
type Read = (since: number, take: Take, signal: AbortSignal) => Promise<void>;

export class EventReader {
  /** Each event as `<thread> <seq or type>`, in the order in which they came. */
  readonly events: string[] = [];
  readonly ids: number[] = [];
  connections = 0;
  /** Why it reads no more. */
  failure: unknown;
  readonly #read: Read;
  readonly #random: () => number;
  readonly #stop = new AbortController();
  #done: Promise<void> = Promise.resolve();

  constructor(read: Read, random: () => number) {
    this.#read = read;
    this.#random = random;
  }

  /** Reads from the oldest event on; leaves after a random time between these, and comes again. */
  start(leave: { minMs: number; maxMs: number }): void {
    this.#done = this.#run(leave).catch((error: unknown) => {
      this.failure = error;
    });
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#done;
  }

  async #run({ minMs, maxMs }: { minMs: number; maxMs: number }): Promise<void> {
    const { signal: stop } = this.#stop;
    while (!stop.aborted) {
      const leave = new AbortController();
      const onStop = () => leave.abort();
      stop.addEventListener("abort", onStop, { once: true });
      const timer = setTimeout(onStop, minMs + this.#random() * (maxMs - minMs));
      this.connections += 1;
      const take: Take = (id, name) => {
        this.ids.push(id);
        this.events.push(name);
      };
      await this.#read(this.ids.at(-1) ?? 0, take, leave.signal);
      clearTimeout(timer);
      stop.removeEventListener("abort", onStop);
      await sleep(this.#random() * 200);
    }
  }
}

/** Reads as programs do that use our client. */
export function byClient(client: SidecarClient): Read {
  return async (since, take, signal) => {
    for await (const told of client.followEvents({ since }, signal)) take(told.id, nameOf(told));
  };
}

const EVENT = /^data: \{"id":(\d+),"threadId":"([^"]+)","type":"([^"]+)","event":\{(?:"seq":(\d+))?/;

/** Reads as cheaply as possible: hundreds of them in one process must keep up. */
export function byHand({ url, token }: { url: string; token: string }): Read {
  return async (since, take, signal) => {
    const headers = { authorization: `Bearer ${token}`, "last-event-id": String(since) };
    const response = await new Promise<IncomingMessage | undefined>((resolve) => {
      const request = get(`${url}/events`, { headers, agent: false, signal }, resolve);
      request.on("error", () => resolve(undefined)); // the sidecar is away, or the reader leaves
    });
    if (!response) return;
    let rest = "";
    try {
      for await (const piece of response.setEncoding("utf8")) {
        const lines = (rest + String(piece)).split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) {
          if (line.startsWith("event: reset")) take(0, "reset");
          const [, id, threadId, type, seq] = EVENT.exec(line) ?? [];
          if (id !== undefined) take(Number(id), `${threadId} ${seq ?? type}`);
        }
      }
    } catch {
      // it broke
    }
  };
}

/** What an event is, whatever its id: a transcript's event has its number there. */
export function nameOf(told: HubEvent | Reset): string {
  return "threadId" in told ? `${told.threadId} ${told.event?.["seq"] ?? told.type}` : told.type;
}
