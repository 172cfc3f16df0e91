import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { AppError } from "./errors.ts";
import { followEvents } from "./follow-events.ts";
import { strangeAnswer } from "./strange-answer.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const page = strangeAnswer({
  method: "GET",
  url: "http://vm/events",
  status: 200,
  contentType: "text/html",
  wanted: "text/event-stream",
});
const away = new AppError("unavailable", "The sidecar does not answer.");
const event = { id: 7, threadId: "a", type: "turn_end", event: { id: "e1", type: "turn_end" } };
const bytes = Buffer.from(`id: 7\ndata: ${JSON.stringify(event)}\n\n`);

/** A sidecar that answers in turn, with events or a failure; the last for ever. */
function answering(...turns: (Error | "events")[]) {
  const seen = { asked: 0, notes: 0 };
  async function* connect() {
    const turn = turns[Math.min(seen.asked++, turns.length - 1)];
    if (turn !== "events") throw turn;
    yield bytes;
  }
  const signal = AbortSignal.timeout(3_600_000);
  return { seen, told: followEvents(connect, {}, signal, async () => void seen.notes++) };
}

/** Lets the clock run until the promise is settled, for an hour at most. */
async function within<T>(promise: Promise<T>): Promise<T> {
  let isSettled = false;
  const done = () => {
    isSettled = true;
  };
  promise.then(done, done);
  for (let i = 0; i < 3_600 && !isSettled; i++) await vi.advanceTimersByTimeAsync(1_000);
  return promise;
}

test("a page that stays in the sidecar's place is told, and not asked for ever", async () => {
  const { seen, told } = answering(page);
  await expect(within(told.next())).rejects.toThrow(/no sidecar: HTTP 200 with text\/html/);
  expect(seen).toEqual({ asked: 16, notes: 1 });
});

test("a page that goes away, as a proxy has one while the sidecar restarts, is waited for", async () => {
  const { seen, told } = answering(...Array(10).fill(page), "events");
  expect((await within(told.next())).value).toMatchObject({ id: 7 });
  expect(seen).toEqual({ asked: 11, notes: 1 });
});

test("a sidecar that is away for long is waited for, with one word each time", async () => {
  const { seen, told } = answering(...Array(100).fill(away), "events", away, away, "events");
  expect((await within(told.next())).value).toMatchObject({ id: 7 });
  expect(seen.notes).toBe(1);
  expect((await within(told.next())).value).toMatchObject({ id: 7 });
  expect(seen).toEqual({ asked: 104, notes: 2 });
});
