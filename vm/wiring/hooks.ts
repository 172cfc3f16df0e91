/** The hook's door, if the settings open it. */
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { Intake } from "../hooks/intake.ts";
import { CONNECTION_LIMITS, type ConnectionLimits } from "../http/connections.ts";
import { WrongTokens } from "../http/guard.ts";
import { createHookDoor } from "../http/hook-door.ts";
import { RefusalLog } from "../http/refusal-log.ts";
import { createHttpServer } from "../http/server.ts";
import type { WiredJobs } from "./jobs.ts";
import type { Setting } from "./setting.ts";
import type { Storage } from "./storage.ts";

const MAX_WAITING_BYTES = 256 * 1024 * 1024;
/** The other listener has the rest: nobody out there may keep its owner out. */
const CONNECTIONS = Math.ceil(CONNECTION_LIMITS.maxConnections / 4);

/** What the sidecar's own listener may have beside the hook's door. */
export function connectionsBeside({ hooks }: Setting["config"]): Pick<ConnectionLimits, "maxConnections"> {
  return { maxConnections: CONNECTION_LIMITS.maxConnections - (hooks ? CONNECTIONS : 0) };
}

/** @returns where it listens; undefined if nowhere */
export async function openHookDoor(
  { config, log, now, releasers }: Setting,
  { store }: Storage,
  { jobs, hooks, arrive }: Pick<WiredJobs, "jobs" | "hooks" | "arrive">,
) {
  if (!config.hooks) return undefined;
  const { host, port } = config.hooks;
  const refusalLog = new RefusalLog(log);
  releasers.add("log of refused hooks", () => refusalLog.close());
  const requests = store.hookRequests;
  const intake = new Intake({
    requests,
    now,
    maxWaitingBytes: Math.min(MAX_WAITING_BYTES, config.stateMaxBytes / 4),
    onTaken: arrive,
  });
  const app = createHookDoor({
    findHeartbeat: (name) => jobs.findHeartbeat(name),
    findHook: (name) => hooks.find(name),
    intake,
    wrongTokens: new WrongTokens({ now, onWrong: () => undefined }),
    ...{ refusalLog, now, log },
  });
  const server = createHttpServer({
    app,
    onWebSocket: (_request, socket) => socket.destroy(),
    connections: { maxConnections: CONNECTIONS },
  });
  server.listen(port, host);
  await once(server, "listening");
  releasers.add("hook's door", async () => {
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
  });
  const { port: ownPort } = server.address() as AddressInfo;
  return `http://${host.includes(":") ? `[${host}]` : host}:${ownPort}`;
}
