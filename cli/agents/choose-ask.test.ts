import { expect, test } from "vitest";
import type { AskReply } from "../../shared/agent/api.ts";
import { AppError } from "../../shared/errors.ts";
import { aThreadId } from "../../test/support/ids.ts";
import { askLines } from "./ask-text.ts";
import { approval, chooseAsk, denial } from "./choose-ask.ts";

const place = { seq: 1, id: "e1-0.0", ts: "2026-01-01T00:00:00.000Z" };

function permission(requestId: string, fields: object = {}): AskReply {
  const request = {
    ...place,
    type: "permission_request" as const,
    requestId,
    toolCallId: "t",
    toolName: "Bash",
    callKey: "k",
    input: '{"command":"make"}',
    title: `Bash ${requestId}`,
    options: [
      { optionId: "once", name: "Allow once", kind: "allow_once" as const },
      { optionId: "no", name: "Deny", kind: "reject_once" as const },
    ],
    ...fields,
  };
  return {
    threadId: aThreadId("t"),
    requestId,
    kind: "permission",
    askedAt: place.ts,
    title: request.title,
    request,
    call: null,
  };
}

const trust = permission("trust", {
  trust: true,
  description: "- a hook",
  options: [
    { optionId: "trust", name: "Trust", kind: "allow_always" },
    { optionId: "without", name: "Run without them", kind: "reject_always" },
  ],
});

const refusalOf = (act: () => unknown) => {
  try {
    act();
  } catch (error) {
    if (error instanceof AppError) return `${error.code}: ${error.message}`;
    throw error;
  }
  return "nothing was refused";
};

test("of several asks none is taken by chance; the start of an id names one", () => {
  const asks = [permission("aaaa-1111-long"), permission("bbbb-2222-long")];
  expect(chooseAsk(asks.slice(1), "#1", undefined)).toBe(asks[1]);
  expect(chooseAsk(asks, "#1", "bb")).toBe(asks[1]);
  expect(refusalOf(() => chooseAsk([], "#1", undefined))).toBe("ask_ended: #1 asks nothing now");
  const known = "aaaa-111 (Bash aaaa-1111-long), bbbb-222 (Bash bbbb-2222-long)";
  expect(refusalOf(() => chooseAsk(asks, "#1", undefined))).toBe(
    `invalid_request: --ask: needed, #1 asks several things: ${known}`,
  );
  expect(refusalOf(() => chooseAsk(asks, "#1", "c"))).toBe(
    `invalid_request: --ask: no open ask of #1 begins with "c"; open are ${known}`,
  );
  const lines = asks.map((ask) => askLines(ask, { thread: "1", maxLines: 9, isOneOfMany: true }));
  expect(lines.flat()).toContain("  → threadmux approve --ask bbbb-222 1");
});

test("a directory is trusted or not: approve trusts it, deny runs without what it brings", () => {
  expect(approval(trust, { always: false })).toEqual({
    answer: { optionId: "trust" },
    said: "Trust",
  });
  expect(denial(trust, { because: undefined })).toMatchObject({ answer: { optionId: "without" } });
  const text = askLines(trust, { thread: "1", maxLines: 9, isOneOfMany: false });
  expect(text).toContain("    - a hook");
  expect(text).toContain("  → threadmux approve 1    (Trust)");
});

test("what the ask has no choice for is refused, never replaced by another choice", () => {
  expect(refusalOf(() => approval(permission("x"), { always: true }))).toBe(
    "invalid_request: --always: this ask has no such choice, but Allow once, Deny",
  );
  const untrusted = permission("u", {
    trust: true,
    options: [{ optionId: "without", name: "Run without them", kind: "reject_always" }],
  });
  expect(refusalOf(() => approval(untrusted, { always: false }))).toContain(
    "no such choice, but Run without them",
  );
  // Only a directory's trust is for always without --always.
  const rule = permission("r", {
    options: [{ optionId: "thread", name: "Allow all", kind: "allow_always" }],
  });
  expect(refusalOf(() => approval(rule, { always: false }))).toContain("no such choice");
});

test("a long command is clipped and counted, a part is never taken for the whole", () => {
  const command = Array.from({ length: 100 }, (_, i) => `echo ${i}`).join("\n");
  const ask = permission("long", { input: JSON.stringify({ command }) });
  const short = askLines(ask, { thread: "1", maxLines: 60, isOneOfMany: false });
  expect(short).toContain("    … 40 more lines (threadmux asks --full)");
  expect(short).not.toContain("    echo 60");
  const full = askLines(ask, { thread: "1", maxLines: Number.POSITIVE_INFINITY, isOneOfMany: false });
  expect(full).toContain("    echo 99");
  const call = {
    ...place,
    type: "tool_call" as const,
    toolCallId: "t",
    at: "a",
    name: "Bash",
    title: "Bash",
    kind: "execute" as const,
    rawInput: { command: "head … tail" },
    blobs: { "/rawInput/command": { sha256: "0", bytes: 90_000 } },
  };
  expect(
    askLines({ request: ask.request, call }, { thread: "1", maxLines: 60, isOneOfMany: false }),
  ).toContain("    ! command is cut here: it has 90000 bytes");
});

// Promise: S33
test("all that a call is given is shown, and nothing in it hides", () => {
  const input = { command: "ls \u202e.", run_in_background: true, description: "List it" };
  const ask = permission("all", { input: JSON.stringify(input), title: "Bash ls", description: "List it" });
  const lines = askLines(ask, { thread: "1", maxLines: 60, isOneOfMany: false });
  expect(lines.slice(1, 5)).toEqual([
    "    ls ⟨U+202E⟩.",
    "    With:",
    "    run_in_background: true",
    "    List it",
  ]);
});
