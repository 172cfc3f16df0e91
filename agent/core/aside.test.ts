import { expect, test } from "vitest";
import { emptyFold } from "../../shared/agent/fold.ts";
import type { OpenAsk, ThreadFold } from "../../shared/agent/fold-types.ts";
import type { HeldCall, OpenRequest } from "../engine.ts";
import { asideBodies } from "./aside.ts";

const at = "2026-01-02T03:04:05.000Z";
const askOf = (requestId: string, more: Partial<OpenAsk> = {}): OpenAsk => ({
  ...{ requestId, kind: "permission", toolCallId: requestId, toolName: "Bash", callKey: requestId },
  ...{ input: "{}", title: "x", generation: 1, askedAt: at, seq: 1, replaces: [] },
  options: [
    { optionId: "once", name: "Allow once", kind: "allow_once" },
    { optionId: "no", name: "Deny", kind: "reject_once" },
  ],
  ...more,
});
const request: OpenRequest = {
  ...{ requestId: "new", kind: "ask", toolCallId: "new", isBeforeCall: false, byte: 0, bytes: 0 },
  call: { side: "ask", kind: "execute" },
};

function bodies(fold: Partial<ThreadFold>, call: HeldCall, { afterMs = 61_000, files = "" } = {}) {
  const whole = { ...emptyFold(), asks: [askOf("new")], ...fold };
  const look = { callOf: () => call, stateOf: () => files, nowMs: Date.parse(at) + afterMs };
  const running = { state: { requests: { new: request } }, sent: new Map(), held: new Set<string>() };
  return asideBodies({ fold: whole, agent: { voice: "message" }, ...look }, running);
}

const command = (text: string, more: object = {}): HeldCall => ({
  ...{ name: "Bash", input: { command: text, description: "d" }, cwd: "/a" },
  ...more,
});

/** Makes the allowance that a yes to an earlier ask about this call leaves in the fold. */
function allowed(call: HeldCall): Pick<ThreadFold, "allowed"> {
  const [aside] = bodies({}, call);
  if (aside?.type !== "ask_aside") throw new Error("it was not put aside");
  const { key, files } = aside;
  return { allowed: [{ requestId: "old", key, files, optionId: "once", at, by: "discord:1" }] };
}

test("a decision lets the same call run, in other words too; another command, directory or file is asked about", () => {
  const yes = [
    { type: "permission_response", requestId: "new", outcome: "selected", optionId: "once" },
    { decidedOn: "old", by: "discord:1" },
  ];
  const known = allowed(command("make"));
  const again = { name: "Bash", input: { description: "other words", command: "make" }, cwd: "/a" };
  expect(bodies(known, again, { afterMs: 0 })).toEqual([Object.assign({}, ...yes)]);
  for (const [other, files] of [
    [command("make all"), ""],
    [command("make", { cwd: "/b" }), ""],
    [command("make", { input: { command: "make", timeout: 1 } }), ""],
    [command("make"), "changed"],
  ] as const)
    expect(bodies(known, other, { afterMs: 0, files })).toEqual([]);
  expect(bodies(known, again, { afterMs: 25 * 3_600_000 })).toMatchObject([{ type: "ask_aside" }]);
});

test("an ask waits a minute while nothing comes in, and no longer than that", () => {
  expect(bodies({}, command("make"), { afterMs: 59_000 })).toEqual([]);
  expect(bodies({}, command("make"))).toMatchObject([{ type: "ask_aside", requestId: "new" }]);
});

test("a model that asks and asks is told no", () => {
  const asks = Array.from({ length: 50 }, (_, n) => askOf(`r${n}`, { aside: { key: `k${n}`, files: "" } }));
  expect(bodies({ asks: [...asks, askOf("new")] }, command("make"))).toMatchObject([
    { type: "permission_response", optionId: "no", message: expect.stringContaining("50 questions") },
  ]);
});
