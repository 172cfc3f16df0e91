/** Keys and their echoes, as the relay and the CLI have them, and by bare HTTP. */
import { once } from "node:events";
import { Agent, request as httpRequest, type IncomingMessage } from "node:http";
import { json } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import type { InputRequest } from "../shared/input-api.ts";
import type { Measured } from "./measure.ts";

/** Presses a key, and waits for what comes after an offset. */
export interface Keyboard {
  press: () => Promise<unknown>;
  echo: (since: number) => Promise<unknown>;
}

/** As the relay and the CLI do. @param makeInput as the relay types a person's message: once, whatever breaks. */
export function clientKeyboard(
  { client }: Measured,
  threadId: string,
  makeInput?: () => InputRequest,
): Keyboard {
  const key = { text: "x", enter: false };
  return {
    press: () => client.sendInput(threadId, makeInput?.() ?? key),
    echo: (since) => client.readThreads({ since: { [threadId]: since }, waitMs: 10_000 }),
  };
}

/** Over kept connections, with nothing of ours: what the least of clients would get. */
export function bareKeyboard({ url, headers }: Measured, threadId: string): Keyboard {
  const agent = new Agent({ keepAlive: true });
  const call = async (method: string, path: string, body?: string) => {
    const options = { agent, method, headers: { ...headers, "content-type": "application/json" } };
    const [response] = (await once(httpRequest(url + path, options).end(body), "response")) as [
      IncomingMessage,
    ];
    return json(response);
  };
  return {
    press: () => call("POST", `/thread/${threadId}/input`, '{"text":"x","enter":false}'),
    echo: (since) => call("GET", `/thread/${threadId}/output?since=${since}&waitMs=10000`),
  };
}

/**
 * Presses keys with a reader waiting.
 * @returns the milliseconds from each key's request until the reader has its echo, ascending.
 */
export async function keyEcho(
  { client }: Measured,
  threadId: string,
  count: number,
  { press, echo }: Keyboard,
): Promise<number[]> {
  const taken: number[] = [];
  const { offset } = await client.getThread(threadId);
  for (let since = offset; since < offset + count; since++) {
    const echoed = echo(since);
    await sleep(5); // it waits by then
    const startedAt = performance.now();
    const typed = press();
    await echoed;
    taken.push(performance.now() - startedAt);
    await typed;
  }
  return taken.sort((a, b) => a - b);
}
