/** Gates at a limit: whether a person is asked at all, and with which words. Only a person lets it go on. Pure. */

import { callKeyOf } from "../../shared/agent/call-key.ts";
import type { EventBody } from "../../shared/agent/events.ts";
import type { ThreadFold } from "../../shared/agent/fold-types.ts";
import { deciderOf } from "../../shared/agent/gates.ts";
import { describeLimit, type ReachedLimit, STOP_OPTION } from "../../shared/agent/limits.ts";
import { BY_GATE, gateRequest } from "./gate-events.ts";
import { type CountedGate, entryOf, type GateWant } from "./gate-wants.ts";
import { limitAsk } from "./limit-ask.ts";

/** @returns what is to be written, nothing while a command decides; and what that waits for */
export function askAtLimit(
  fold: ThreadFold,
  gates: readonly CountedGate[],
  reached: ReachedLimit,
): { bodies: EventBody[]; want?: GateWant } {
  const { name } = reached;
  const own = gates.filter(({ at, if: fit }) => at === "on_limit" && (fit?.limit ?? name) === name);
  const ask = limitAsk(fold, reached);
  for (const gate of own) {
    if (deciderOf(gate).is === "person") continue;
    const want = wantOf(gate, reached);
    const entry = entryOf(fold, want);
    if (!entry) return { bodies: gateRequest(fold, want, { attempt: 1 }), want };
    if (entry.outcome === undefined) return { bodies: [], want };
    if (entry.outcome !== "continue") return { bodies: [ask, stop(ask, entry.text)] };
  }
  const prompts = own.flatMap(({ by, prompt }) => (by === "person" && prompt !== undefined ? [prompt] : []));
  const description = [...prompts, ask.description].filter((text) => text !== undefined).join("\n");
  return { bodies: [{ ...ask, description }] };
}

function wantOf(gate: CountedGate, { name, allowed, used, day }: ReachedLimit): GateWant {
  const input = { limit: name, allowed, used };
  const waits = `limit ${name} ${day ?? ""} ${allowed}`;
  return {
    ...{ gate, waits, callKey: callKeyOf("Limit", { name, allowed, day }), toolName: "Limit", input },
    title: `The limit of ${describeLimit(name, allowed)} is reached`,
  };
}

function stop({ requestId }: EventBody<"permission_request">, text: string | undefined): EventBody {
  return {
    ...{ type: "permission_response", requestId, outcome: "selected", optionId: STOP_OPTION, by: BY_GATE },
    ...(text !== undefined && { message: text }),
  };
}
