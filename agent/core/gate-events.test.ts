/** What is asked at gates and what their decisions come to, as the transcript keeps it. */
import { expect, test } from "vitest";
import { callKeyOf } from "../../shared/agent/call-key.ts";
import { type EventBody, type ThreadEvent, toEvent } from "../../shared/agent/events.ts";
import { emptyFold, foldEvent } from "../../shared/agent/fold.ts";
import type { ThreadFold } from "../../shared/agent/fold-types.ts";
import type { Gate } from "../../shared/agent/gates.ts";
import { GateKeeper } from "../gates/gate-keeper.ts";
import type { Command } from "../process/sandbox.ts";
import type { Seat } from "../seat.ts";
import { config, launch } from "../testing/thread.ts";
import { gateRequest, gateResponse, judgeEnd } from "./gate-events.ts";
import { gateWants } from "./gate-wants.ts";

const INPUT = { command: "git push" };

class Log {
  fold: ThreadFold = emptyFold();
  readonly lastLaunch = launch;

  constructor(gates: readonly Gate[]) {
    this.add({
      type: "thread_start",
      v: 1,
      threadId: "t",
      createdBy: "discord:7",
      config: { ...config.agent, gates },
    } as never);
    this.start(1);
  }

  add(...bodies: EventBody[]): void {
    for (const body of bodies) {
      const seq = this.fold.seq + 1;
      const event = { ...body, seq, id: `r${seq}.0`, ts: new Date().toISOString() };
      this.fold = foldEvent(this.fold, toEvent(event) as ThreadEvent);
    }
  }

  append(_source: null, bodies: readonly EventBody[]): void {
    this.add(...bodies);
  }

  start(generation: number): void {
    const names = { engine: "claude", version: "2.1.330", sessionId: "s", model: "m", modeId: "default" };
    this.add({ type: "engine_start", generation, ...names, resumed: generation > 1 });
    this.add({ type: "turn_start", turnId: `t${generation}`, cause: "message", deliveryIds: [] });
  }

  call(toolCallId: string): void {
    this.add({
      ...{ type: "tool_call", toolCallId, at: toolCallId, name: "Bash", title: "Bash git push" },
      ...{ kind: "execute", rawInput: INPUT },
    });
  }
}

/** An engine that waits before the call. */
function seatAt(toolCallId: string, generation: number): Seat {
  const request = { requestId: `hook ${toolCallId}`, kind: "hook", toolCallId, call: { side: "before" } };
  return {
    ...{ launch: { ...launch, generation }, sent: new Map(), held: new Set(), refused: new Map() },
    state: { requests: { [request.requestId]: request } },
    session: { callOf: () => ({ name: "Bash", input: INPUT }) },
  } as unknown as Seat;
}

function keeperAt(log: Log, gates: Gate[]): GateKeeper {
  const options = {
    folder: "/nowhere",
    env: {},
    keep: (command: Command) => command,
    onChange: () => undefined,
  };
  return new GateKeeper({ ...options, config: { ...config, agent: { ...config.agent, gates } } }, log);
}

test("a decision about a call that a killed engine made holds for one call of the next", () => {
  const gates: Gate[] = [{ at: "before_step", by: "person" }];
  const log = new Log(gates);
  const keeper = keeperAt(log, gates);
  log.call("a");
  keeper.look(seatAt("a", 1), Date.now());
  const [ask] = log.fold.asks;
  const { requestId = "" } = ask ?? {};
  log.add({ type: "engine_end", generation: 1, reason: "crashed" });
  log.add({ type: "permission_response", requestId, outcome: "selected", optionId: "continue" });
  log.start(2);
  const held = ["b", "c"].map((id) => {
    log.call(id);
    const seat = seatAt(id, 2);
    keeper.look(seat, Date.now());
    return seat.held.size;
  });
  expect(held).toEqual([0, 1]);
  expect(log.fold.asks).toHaveLength(1);
  expect(log.fold.asks[0]?.requestId).not.toBe(requestId);
});

test("a turn that its gate lets fail has failed, whatever its end tells of tokens", () => {
  const gate: Gate = { at: "after_complete", by: "command: x" };
  const log = new Log([gate]);
  const end: EventBody<"turn_end"> = { type: "turn_end", turnId: "t1", stopReason: "end_turn" };
  expect(judgeEnd(end, log.fold, [{ index: 0 }])).toEqual(end);
  const want = {
    gate: { ...gate, index: 0 },
    waits: "w",
    callKey: "k",
    title: "End",
    toolName: "End",
    input: {},
  };
  log.add(...gateRequest(log.fold, want, { attempt: 1 }));
  const [entry] = log.fold.gates?.entries ?? [];
  log.add(gateResponse(entry ?? { requestId: "", callKey: "" }, "fail", "bad"));
  expect(judgeEnd(end, log.fold, [{ index: 0 }])).toMatchObject({
    stopReason: "error",
    error: "A gate of the thread let the turn fail: bad",
  });
});

test("files that a call tells only once it has begun are looked at after it", () => {
  const gate: Gate = { at: "after_step", if: { path: "secrets/**" }, by: "person" };
  const log = new Log([gate]);
  const input = { patch: "..." };
  log.add({
    ...{ type: "tool_call", toolCallId: "a", at: "a", name: "apply_patch", title: "Patch" },
    ...{ kind: "edit", rawInput: input },
  });
  const files = [{ path: "/w/secrets/key", before: null, after: "x" }];
  log.add({ type: "tool_call_update", toolCallId: "a", status: "in_progress", files });
  log.add({ type: "tool_call_update", toolCallId: "a", status: "completed" });
  const seat = seatAt("round", 1);
  Object.assign(seat.state.requests["hook round"] ?? {}, { isAfterCalls: true, call: undefined });
  const look = {
    ...{ fold: log.fold, gates: [{ ...gate, index: 0 }], callOf: () => undefined },
    place: { dir: "/w", real: (path: string) => path },
  };
  const calls = [{ name: "apply_patch", paths: ["/w/secrets/key"] }];
  expect(gateWants(look, seat)).toMatchObject([{ input: { calls }, callKey: callKeyOf("Steps", { calls }) }]);
});
