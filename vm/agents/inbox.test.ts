import { appendFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { unboundLine } from "../../shared/agent/bound.ts";
import { type InboxLine, parseInboxLine } from "../../shared/agent/inbox.ts";
import { blobPath, threadPath } from "../../shared/agent/paths.ts";
import { Inbox } from "./inbox.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "inbox-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const message = (messageId: string, text = "hi"): InboxLine => ({
  ts: "2026-11-22T10:00:00.000Z",
  op: "message",
  messageId,
  source: "owner",
  content: [{ type: "text", text }],
});
const lines = () => readFileSync(threadPath(folder, "inbox"), "utf8").split("\n").slice(0, -1);

test("lines keep their order, and what is unread is known by their place", () => {
  const inbox = new Inbox(folder);
  expect(inbox.hasLineAfter(undefined)).toBe(false);
  inbox.append([message("m1")]);
  const first = 0;
  expect(inbox.hasLineAfter(undefined)).toBe(true);
  expect(inbox.hasLineAfter(first)).toBe(false);
  inbox.append([message("m2"), message("m3")]);
  expect(inbox.hasLineAfter(first)).toBe(true);
  expect(lines().map((line) => parseInboxLine(line))).toEqual([message("m1"), message("m2"), message("m3")]);
  const again = new Inbox(folder);
  const [one = "", two = ""] = lines();
  expect(again.hasLineAfter(one.length + 1)).toBe(true);
  expect(again.hasLineAfter(one.length + two.length + 2)).toBe(false);
  expect(again.messageIds()).toEqual(new Set(["m1", "m2", "m3"]));
});

test("half a line of a crash stays a line of its own", () => {
  new Inbox(folder).append([message("m1")]);
  appendFileSync(threadPath(folder, "inbox"), '{"op":"mess');
  const inbox = new Inbox(folder);
  inbox.append([message("m2")]);
  expect(lines()).toHaveLength(3);
  expect(lines()[1]).toBe('{"op":"mess');
  expect(inbox.messageIds()).toEqual(new Set(["m1", "m2"]));
});

test("a long message is never cut: its body is a file of its own", () => {
  const text = "é".repeat(100_000);
  new Inbox(folder).append([message("m1", text)]);
  const [line = ""] = lines();
  expect(Buffer.byteLength(line)).toBeLessThan(64 * 1024);
  const whole = unboundLine(parseInboxLine(line), (sha256) => readFileSync(blobPath(folder, sha256), "utf8"));
  expect(whole).toMatchObject({ content: [{ type: "text", text }] });
});

test("half a body that a full disk left is written anew when the message is sent again", () => {
  const text = "é".repeat(100_000);
  const inbox = new Inbox(folder);
  inbox.append([message("m1", text)]);
  const [sha256 = ""] = readdirSync(threadPath(folder, "blobs"));
  const file = blobPath(folder, sha256);
  truncateSync(file, 4096);
  inbox.append([message("m1", text)]);
  expect(readFileSync(file)).toHaveLength(Buffer.byteLength(text));
  expect(readdirSync(threadPath(folder, "blobs"))).toEqual([sha256]);
});
