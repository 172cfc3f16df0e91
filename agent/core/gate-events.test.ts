/** Gates' requests and decisions as the transcript keeps them. */
import { expect, test } from "vitest";
import { callKeyOf } from "../../shared/agent/call-key.ts";
import type { EventBody } from "../../shared/agent/events.ts";
import type { Gate } from "../../shared/agent/gates.ts";
import { GateLog, keeperAt, seatAt } from "../testing/gate-log.ts";
import { gateRequest, gateResponse, judgeEnd } from "./gate-events.ts";
import { gateWants } from "./gate-wants.ts";

test("a decision about a call that a killed engine made holds for one call of the next", () => {
  const gates: Gate[] = [{ at: "before_step", by: "person" }];
  const log = new GateLog(gates);
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
  const log = new GateLog([gate]);
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
  const log = new GateLog([gate]);
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
