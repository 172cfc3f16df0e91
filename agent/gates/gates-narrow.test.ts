/** Gates only narrow: a call runs with gates only if it would have run without them and each gate let it go on. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import type { Gate, GateOutcome } from "../../shared/agent/gates.ts";
import { makeFolder } from "../../test/support/folders.ts";
import { until } from "../../test/support/wait.ts";
import { decide } from "../core/decide.ts";
import { inboxEvent } from "../core/inbox-events.ts";
import { askEvents } from "../engines/claude/asks.ts";
import { goOnLine } from "../engines/claude/control.ts";
import { judge } from "../engines/own/permissions.ts";
import type { Seat } from "../seat.ts";
import { GateLog, INPUT, keeperAt, seatAt } from "../testing/gate-log.ts";
import { config } from "../testing/thread.ts";
import type { GateKeeper } from "./gate-keeper.ts";

const CASES = 160;
const RULE = "Bash(git push:*)";
const MODES = ["plan", "dontAsk", "default", "acceptEdits", "auto", "bypassPermissions"] as const;

const root = makeFolder();
afterAll(() => root.remove());

let seed = 28;
const random = (max: number) => {
  seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
  return Math.floor((seed / 2_147_483_648) * max);
};
const oneOf = <T>(list: readonly T[]): T => list[random(list.length)] as T;
const chance = (percent: number) => random(100) < percent;

/** What happens to a call at the gates of a thread. */
interface Case {
  engine: "claude" | "own";
  mode: (typeof MODES)[number];
  hasRule: boolean;
  /** The person lets this call run, asked by the engine or by a gate. */
  personAllows: boolean;
  gates: Gate[];
  /** The outcome of each gate's command or directive; undefined if a directive never decides. */
  says: (GateOutcome | undefined)[];
  /** Decisions about another call, and second ones about this call, come in too. */
  hasNoise: boolean;
}

function anyCase(): Case {
  const gates = Array.from({ length: random(4) }, (): Gate => {
    const fit = oneOf([
      undefined,
      { tool: "Bash" },
      { command: "git *" },
      { command: "npm *" },
      { path: "a" },
    ]);
    const by = oneOf<Gate["by"]>(["person", "directive: a", "directive: a", "command" as never]);
    return { at: "before_step", by, ...(fit && { if: fit }) };
  });
  const says = gates.map(() =>
    oneOf(["continue", "continue", "continue", "fail", "retry", "abort", undefined] as const),
  );
  for (const [at, gate] of gates.entries()) {
    if (gate.by !== ("command" as never)) continue;
    says[at] = says[at] === "continue" ? "continue" : "fail";
    gates[at] = { ...gate, by: { command: says[at] === "continue" ? "exit 0" : "exit 1" } };
  }
  return {
    engine: oneOf(["claude", "own"]),
    mode: oneOf(MODES),
    hasRule: chance(30),
    personAllows: chance(60),
    gates,
    says,
    hasNoise: chance(50),
  };
}

/** Tells what the engine does with the call without gates. */
function engineSays({ engine, mode, hasRule }: Case): "run" | "ask" | "refused" {
  if (engine === "own") {
    const known = mode === "dontAsk" || mode === "auto" ? "default" : mode;
    const call = { name: "Bash", asksAs: "command" as never, subject: INPUT.command };
    return judge(call, known, new Set(hasRule ? [RULE] : [])).is;
  }
  if (mode === "bypassPermissions" || mode === "auto") return "run";
  if (mode === "plan") return "ask";
  if (hasRule) return "run";
  return mode === "dontAsk" ? "refused" : "ask";
}

const personSays = ({ personAllows }: Case) => personAllows;
const runsWithoutGates = (one: Case) => {
  const own = engineSays(one);
  return own === "run" || (own === "ask" && personSays(one));
};
const fits = ({ if: fit }: Gate) => fit?.command !== "npm *" && fit?.path === undefined;
const letsGo = (one: Case) =>
  one.gates.every((gate, at) => {
    if (!fits(gate)) return true;
    return gate.by === "person" ? one.personAllows : one.says[at] === "continue";
  });

/** Lets the decider of the open gate decide. @returns whether a gate was open */
async function decideOne(one: Case, log: GateLog, keeper: GateKeeper, seat: Seat): Promise<boolean> {
  const open = log.fold.gates?.entries.find(({ outcome }) => outcome === undefined);
  if (!open) return false;
  const { requestId, callKey, gate } = open;
  const wanted = one.says[gate];
  const line = (fields: object) => {
    const text = JSON.stringify({
      ts: new Date().toISOString(),
      by: "thread:review-1",
      requestId,
      ...fields,
    });
    log.add(inboxEvent(text, log.fold, false, (whole) => whole));
  };
  if (open.by === "command") {
    await until("the command's end", () => {
      seat.held.clear();
      keeper.look(seat, Date.now());
      return log.fold.gates?.entries.find((entry) => entry.gate === gate)?.outcome;
    });
    return true;
  }
  // Each of these decisions would let the call go on; none of them may count.
  if (one.hasNoise) line({ op: "decide", callKey: "another", outcome: "continue" });
  if (open.by === "person") {
    if (one.hasNoise) line({ op: "decide", callKey, outcome: "continue" });
    line({ op: "permission", optionId: one.personAllows ? "continue" : "fail" });
    if (one.hasNoise) line({ op: "permission", optionId: "continue" });
    return true;
  }
  if (one.hasNoise) line({ op: "permission", optionId: "continue" });
  seat.held.clear();
  if (wanted === undefined) keeper.look(seat, Date.now() + 121_000);
  else line({ op: "decide", callKey, outcome: wanted });
  if (one.hasNoise && wanted !== undefined) line({ op: "decide", callKey, outcome: "continue" });
  return true;
}

/** Runs the runner's loop until the engine's request has its answer. @returns whether the call may go on */
async function answerOf(one: Case, log: GateLog, keeper: GateKeeper, seat: Seat): Promise<boolean> {
  for (let round = 0; round < 30; round++) {
    seat.held.clear(); // the seat holds what is not saved; a gate holds anew in each look
    keeper.look(seat, Date.now());
    if (log.fold.pending.interrupt) return false;
    const actions = decide(log.fold, seat, config, Date.now());
    const found = actions.find(({ do: name }) => name === "hook" || name === "stop" || name === "answer");
    if (found?.do === "hook") return true;
    if (found?.do === "stop") return false;
    if (found?.do === "answer")
      return (
        "response" in found.answer &&
        "optionId" in found.answer.response &&
        found.answer.response.optionId !== "no"
      );
    if (!(await decideOne(one, log, keeper, seat))) return false; // nobody is asked, and nothing goes on
  }
  throw new Error("it never ends");
}

const ask = (requestId: string) => ({ type: "control_request", request_id: requestId }) as const;

async function runs(one: Case, folder: string): Promise<boolean> {
  const log = new GateLog(one.gates);
  const keeper = keeperAt(log, one.gates, folder, root.path);
  log.call("a");
  const own = engineSays(one);
  if (one.engine === "own" && own === "refused") return false;
  if (one.engine === "own" && own === "ask") {
    const options = [
      { optionId: "once", name: "Allow", kind: "allow_once" as const },
      { optionId: "no", name: "Deny", kind: "reject_once" as const },
    ];
    const base = {
      requestId: "own-1",
      toolCallId: "a",
      callKey: "a",
      title: "Bash",
      toolName: "Bash",
      input: "",
    };
    log.add({ type: "permission_request", ...base, options });
    const optionId = one.personAllows ? "once" : "no";
    log.add({ type: "permission_response", requestId: "own-1", outcome: "selected", optionId });
    const seat = seatAt("a", 1, { requestId: "own-1", kind: "ask", call: { side: "ask", kind: "execute" } });
    return answerOf(one, log, keeper, seat);
  }
  const mayGoOn = await answerOf(one, log, keeper, seatAt("a", 1));
  if (!mayGoOn || own === "refused") return false;
  if (own === "run") return true;
  const request = { subtype: "can_use_tool", tool_name: "Bash", tool_use_id: "a", input: INPUT };
  const events = askEvents({ ...ask("can-1"), request } as never, log.fold, 1, "/app", undefined);
  const answer = events.find((event) => event.type === "permission_response");
  // A person's yes at the gate is the answer to the engine's own ask; every other yes leaves it open.
  return answer ? "optionId" in answer && answer.optionId === "once" : one.personAllows;
}

test(`of ${CASES} calls none runs that would not have run without its gates, or that one of them stopped`, async () => {
  const counts = { ran: 0, stopped: 0, bare: 0 };
  for (let at = 0; at < CASES; at++) {
    const one = anyCase();
    const folder = join(root.path, String(at));
    mkdirSync(folder);
    const ran = await runs(one, folder);
    expect(ran, JSON.stringify(one)).toBe(runsWithoutGates(one) && letsGo(one));
    counts.ran += ran ? 1 : 0;
    counts.stopped += runsWithoutGates(one) && !ran ? 1 : 0;
    counts.bare += runsWithoutGates(one) ? 0 : 1;
  }
  for (const count of Object.values(counts)) expect(count).toBeGreaterThan(15);
});

test("what a gate tells the engine before a call is never a yes", () => {
  expect(JSON.parse(goOnLine({ requestId: "r1" })).response).toEqual({
    subtype: "success",
    request_id: "r1",
    response: {},
  });
});
