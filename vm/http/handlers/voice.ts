/** Agents that speak with a tool. */
import { AppError } from "../../../shared/errors.ts";
import type { HandOvers } from "../../agents/hand-over.ts";
import type { MainAgents } from "../../agents/main-agents.ts";
import type { MainStatuses } from "../../agents/main-status.ts";
import type { Spoken } from "../../agents/spoken.ts";
import type { ApiHandlers } from "../api.ts";

export interface VoiceServices {
  mainAgents: MainAgents;
  mainStatus: MainStatuses;
  handOvers: HandOvers;
  spoken: Spoken;
}

export function voiceHandlers({
  mainAgents,
  mainStatus,
  handOvers,
  spoken,
}: VoiceServices): ApiHandlers["voice"] {
  return {
    main: ({ params, by }) => mainAgents.of(params.channelId, by),
    status: ({ params, by }) => mainStatus.of(params.channelId, by),
    handOver: ({ params, body, by }) => handOvers.handOver(params.channelId, body.dir, by),
    list: () => spoken.list(),
    note: async ({ params, body }) => {
      if (!(await spoken.note(Number(params.spokenId), body)))
        throw new AppError("not_found", `spokenId: there is no message ${params.spokenId}.`);
    },
  };
}
