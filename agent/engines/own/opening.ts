/** The first events of a process of this engine, which say what it is. Pure. */
import type { EventBody } from "../../../shared/agent/events.ts";
import { VERSION } from "../../../shared/version.ts";
import type { Choice } from "./choice.ts";
import type { Start } from "./protocol.ts";

/** @param problems a sentence for people each */
export function opening(start: Start, choice: Choice, problems: readonly string[]): EventBody[] {
  const { generation, sessionId, resumed, reseeded, config } = start;
  const chosen = choice.find();
  return [
    {
      ...{ type: "engine_start", generation, engine: config.agent.engine, version: VERSION, sessionId },
      model: "problem" in chosen ? choice.model : chosen.model,
      modeId: choice.modeId,
      resumed,
      ...(reseeded && { reseeded }),
    },
    ...problems.map((title): EventBody => ({ type: "notice", severity: "warning", title })),
  ];
}
