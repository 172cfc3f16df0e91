/** What a process of this engine says is taken for what the runner could have told it, and for nothing else. */
import { mkdirSync } from "node:fs";
import { afterAll, expect, test } from "vitest";
import type { ThreadConfig } from "../../../shared/agent/config.ts";
import { emptyFold } from "../../../shared/agent/fold.ts";
import { makeFolder } from "../../../test/support/folders.ts";
import type { Launch, OpenRequest, TranslateContext } from "../../engine.ts";
import { OwnSession } from "./session.ts";

const folder = makeFolder();
mkdirSync(folder.path, { recursive: true });
afterAll(() => folder.remove());

let generation = 0;
function begin() {
  const launch = { generation: ++generation, sessionId: "s", startedAt: "", takesUp: false, taken: [] };
  const session = new OwnSession({
    ...{ launch: launch as unknown as Launch, env: {}, folder: folder.path, isOurs: true },
    config: {} as unknown as ThreadConfig,
    textAt: () => "",
  });
  const fold = { ...emptyFold(), deliveryIds: ["d1"], lockedOut: ["locked.1"] };
  let byte = 0;
  const hear = (said: object) => {
    const text = JSON.stringify(said);
    const line = { byte, bytes: text.length + 1, text };
    byte += line.bytes;
    return session.hear(line, { fold } as unknown as TranslateContext);
  };
  return { session, hear };
}

const ASK = { requestId: "r1", kind: "ask", toolCallId: "c1" };
const by = "discord:7" as const;
const response = { kind: "permission", optionId: "no" } as const;
const verdict = { requestId: "r1", goesOn: false, optionId: "no" };

test("an answer is taken as it was sent, and no other", () => {
  const { session, hear } = begin();
  expect(hear({ requests: [ASK] })).toEqual([]);
  const open = session.state.requests["r1"] as OpenRequest;
  const allowed = { requestId: "r1", goesOn: true, optionId: "once" };
  expect(hear({ closed: [{ requestId: "r1", verdict: allowed }] })).toBe("forged");
  session.answer(open, { requestId: "r1", response } as never);
  expect(hear({ closed: [{ requestId: "r1", verdict: allowed }] })).toBe("forged");
  expect(hear({ closed: [{ requestId: "r1", verdict }] })).toEqual([]);
  expect(session.state.requests).toEqual({});
  session.close();
});

test.each(["__proto__", "constructor", "toString"])(
  "an ask of the id %s is open, and can be answered",
  (requestId) => {
    const { session, hear } = begin();
    expect(hear({ requests: [{ ...ASK, requestId }] })).toEqual([]);
    const [open] = Object.values(session.state.requests);
    expect(open).toMatchObject({ requestId });
    session.answer(open as OpenRequest, { requestId, response } as never);
    expect(hear({ closed: [{ requestId, verdict: { ...verdict, requestId } }] })).toEqual([]);
    expect(Object.values(session.state.requests)).toEqual([]);
    session.close();
  },
);

const update = (modeId: string) => ({ type: "current_mode_update", modeId });
test.each([
  ["a mode that nobody chose", { events: [update("acceptEdits")] }],
  ["a mode in place of the one that was chosen", { did: "mode-5-plan", events: [update("acceptEdits")] }],
  ["a mode by a name of its own", { did: "mode-9-acceptEdits", events: [update("acceptEdits")] }],
  ["a model that nobody chose", { events: [{ type: "config_update", model: "x" }] }],
  [
    "a message that was not sent",
    { events: [{ type: "delivery_update", deliveryId: "d2", status: "started" }] },
  ],
  [
    "a person's answer",
    { events: [{ type: "permission_response", requestId: "r1", outcome: "selected", optionId: "once" }] },
  ],
])("%s is forged", (_, said) => {
  const { session, hear } = begin();
  session.control({ op: "mode", seq: 5, by, modeId: "plan" });
  expect(hear(said)).toBe("forged");
  session.close();
});

test("what it was told is taken once", () => {
  const { session, hear } = begin();
  session.control({ op: "mode", seq: 5, by, modeId: "plan" });
  const said = { did: "mode-5-plan", events: [update("plan")] };
  expect(hear(said)).toEqual(said.events);
  expect(hear(said)).toBe("forged");
  session.close();
});

test.each(["user_message", "control", "thread_start", "failure", "no_event"])(
  "%s is no word of its own",
  (type) => {
    const { session, hear } = begin();
    expect(() => hear({ events: [{ type }] })).toThrow();
    session.close();
  },
);

test("a call that a gate did not let run is told as denied, and one that met a lock as locked", () => {
  const { session, hear } = begin();
  const refused = (toolCallId: string) => ({
    events: [{ type: "tool_call_update", toolCallId, status: "failed", reason: "locked" }],
  });
  expect(hear(refused("gated"))).toMatchObject([{ reason: "denied" }]);
  expect(hear(refused("locked"))).toMatchObject([{ reason: "locked" }]);
  session.close();
});
