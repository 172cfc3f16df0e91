/** Agents' work, their asks, and the controls by which people steer them. */

import type { ControlRequest } from "../../../shared/agent/api.ts";
import { CONTROLS, type Control } from "../../../shared/agent/controls.ts";
import type { agents as routes } from "../../../shared/protocol/agents.ts";
import type { asks as askRoutes } from "../../../shared/protocol/asks.ts";
import type { ControlRoute } from "../../../shared/protocol/controls.ts";
import type { Agents } from "../../agents/agents.ts";
import type { Merges } from "../../agents/merges.ts";
import type { People } from "../../callers/people.ts";
import type { Homes } from "../../threads/homes.ts";
import type { Outputs } from "../../threads/outputs.ts";
import { type Handler, type Handlers, whileOpen } from "./handler.ts";

export interface AgentServices {
  agents: Agents;
  merges: Merges;
  outputs: Outputs;
  homes: Pick<Homes, "channelsOf">;
  people: Pick<People, "filterReadable">;
}

export function agentHandlers({
  agents,
  merges,
  outputs,
  homes,
  people,
}: AgentServices): Handlers<typeof routes> {
  return {
    listInbox: ({ query, by }) => ({
      items: people.filterReadable(by, agents.listInbox(query), homes.channelsOf()),
    }),
    readTranscript: ({ params, query, response }) =>
      outputs.readTranscript(params.id, query, whileOpen(response)),
    readBlob: ({ params, query }) => agents.readBlob(params.id, params.sha256, query),
    listSteps: ({ params, query }) => ({ steps: agents.listSteps(params.id, query) }),
    getDiff: ({ params, query }) => agents.readDiff(params.id, query),
    getWorktree: ({ params }) => agents.getWorktree(params.id),
    mergeWorktree: async ({ params, body }) => ({
      merged: true,
      ...(await merges.merge(params.id, body.how)),
    }),
    removeWorktree: async ({ params, body }) => ({
      removed: true,
      ...(await agents.removeWorktree(params.id, body.force)),
    }),
  };
}

export function askHandlers({
  agents,
  homes,
  people,
}: Pick<AgentServices, "agents" | "homes" | "people">): Handlers<typeof askRoutes> {
  return {
    listAll: ({ by }) => ({
      asks: people.filterReadable(by, agents.listAsks(), homes.channelsOf()),
    }),
    list: ({ params }) => ({ asks: agents.listAsks(params.id) }),
    answer: async ({ params, body, by }) => {
      await agents.answer(params.id, params.requestId, body, by);
      return { answered: true };
    },
    listRules: ({ params }) => ({ rules: [...agents.listRules(params.id)] }),
  };
}

export function controlHandlers({
  agents,
}: Pick<AgentServices, "agents">): Record<Control, Handler<ControlRoute>> {
  const handler =
    (control: Control): Handler<ControlRoute> =>
    async ({ params, body, by }) => {
      // The body was parsed by the schema of this very control.
      const outcome = await agents.control(params.id, { ...body, control } as ControlRequest, by);
      return { accepted: true, ...(outcome !== undefined && { outcome }) };
    };
  return Object.fromEntries(CONTROLS.map((control) => [control, handler(control)])) as Record<
    Control,
    Handler<ControlRoute>
  >;
}
