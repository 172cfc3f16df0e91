/** Inputs: what is typed into terminals and said to agents. */
import type { inputs as routes } from "../../../shared/protocol/inputs.ts";
import type { Agents } from "../../agents/agents.ts";
import type { Inputs } from "../../threads/inputs.ts";
import type { Metrics } from "../metrics.ts";
import type { Handlers } from "./handler.ts";

export interface InputServices {
  inputs: Inputs;
  agents: Agents;
  metrics: Pick<Metrics, "inputSeconds" | "inputBytes">;
}

export function inputHandlers({ inputs, agents, metrics }: InputServices): Handlers<typeof routes> {
  return {
    send: async ({ params, body, by }) => {
      const endTimer = metrics.inputSeconds.startTimer();
      const { isDuplicate, isHidden } = await inputs.send(params.id, { ...body, by });
      endTimer();
      metrics.inputBytes.inc("text" in body ? Buffer.byteLength(body.text) : 1);
      return { sent: true, ...(isDuplicate && { duplicate: true }), ...(isHidden && { hidden: true }) };
    },
    amend: async ({ params, body, by }) => {
      await agents.amend(params.id, params.inputId, body, by);
      return { accepted: true };
    },
  };
}
