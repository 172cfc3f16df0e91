import { expect, test } from "vitest";
import { MAX_UNREAD_BYTES, RESUME_UNREAD_BYTES } from "../../shared/attach.ts";
import { Unread } from "./unread.ts";

test("too much pauses once, and is over once the viewer has said that it took it", () => {
  const unread = new Unread(true);
  expect(unread.sent(MAX_UNREAD_BYTES, 0, 0)).toBe(false);
  expect(unread.sent(1, 0, 0)).toBe(true);
  expect(unread.sent(1, 0, 0)).toBe(false);
  unread.acknowledge(MAX_UNREAD_BYTES + 1 - RESUME_UNREAD_BYTES);
  expect(unread.isReadAgain(0, 0)).toBe(false);
  unread.acknowledge(MAX_UNREAD_BYTES + 2 - RESUME_UNREAD_BYTES);
  expect(unread.isReadAgain(0, 0)).toBe(true);
  expect(unread.isReadAgain(0, 0)).toBe(false);
});

test("without acknowledgements the socket alone counts", () => {
  const unread = new Unread(false);
  expect(unread.sent(10 * MAX_UNREAD_BYTES, MAX_UNREAD_BYTES, 0)).toBe(false);
  expect(unread.sent(1, MAX_UNREAD_BYTES + 1, 0)).toBe(true);
  expect(unread.isReadAgain(RESUME_UNREAD_BYTES, 0)).toBe(true);
});

test("a viewer that acknowledges what its socket still holds is not believed", () => {
  const unread = new Unread(true);
  unread.acknowledge(Number.MAX_SAFE_INTEGER);
  expect(unread.sent(MAX_UNREAD_BYTES + 1, 0, 0)).toBe(true);
  unread.acknowledge(MAX_UNREAD_BYTES + 1);
  unread.acknowledge(0);
  expect(unread.isReadAgain(MAX_UNREAD_BYTES, 0)).toBe(false);
  expect(unread.isReadAgain(0, 0)).toBe(true);
});

test("it is stalled since it last took something", () => {
  const unread = new Unread(false);
  expect(unread.stalledMs(1_000)).toBe(0);
  unread.sent(1, 2 * MAX_UNREAD_BYTES, 1_000);
  expect(unread.stalledMs(3_000)).toBe(2_000);
  unread.isReadAgain(MAX_UNREAD_BYTES, 4_000);
  expect(unread.stalledMs(5_000)).toBe(1_000);
  unread.isReadAgain(MAX_UNREAD_BYTES, 6_000);
  expect(unread.stalledMs(6_000)).toBe(2_000);
});
