/** The sidecar itself and its machine. */
import type { HealthReply } from "../../../shared/machine-api.ts";
import { createOpenApi } from "../../../shared/protocol/openapi.ts";
import type { sidecar as routes } from "../../../shared/protocol/sidecar.ts";
import type { EventHub } from "../../events/hub.ts";
import type { Homes } from "../../threads/homes.ts";
import type { Repos } from "../../threads/repos.ts";
import { doWhatIsLeft } from "../afterwards.ts";
import { answer } from "../exchange.ts";
import type { Metrics } from "../metrics.ts";
import { sendEvents } from "./events.ts";
import { type Handlers, whileOpen } from "./handler.ts";

export interface SidecarServices {
  events: EventHub;
  homes: Pick<Homes, "resolve">;
  repos: Repos;
  metrics: Metrics;
  getHealth: () => HealthReply;
}

export function sidecarHandlers({
  events,
  homes,
  repos,
  metrics,
  getHealth,
}: SidecarServices): Handlers<typeof routes> {
  const openApi = createOpenApi();
  return {
    followEvents: (call) => sendEvents({ events, homes }, call),
    listRepos: async ({ query, response }) => ({
      repos: await repos.list(query.prefix, whileOpen(response)),
    }),
    getHealth: ({ response }) => {
      const health = getHealth();
      if (!health.ok) response.statusCode = 503;
      return health;
    },
    getMetrics: async ({ response }) => {
      doWhatIsLeft(); // the figures of answers that were given just now
      const text = await metrics.registry.metrics();
      response.setHeader("content-type", metrics.registry.contentType);
      response.end(text);
    },
    getOpenApi: ({ response }) => answer(response, openApi),
  };
}
