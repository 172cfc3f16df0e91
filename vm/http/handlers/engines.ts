/** The engines, and what the machine says of them. */
import type { engines as routes } from "../../../shared/protocol/engines.ts";
import type { EngineList } from "../../agents/engine-list.ts";
import type { Handlers } from "./handler.ts";

export interface EngineServices {
  engines: EngineList;
}

export function engineHandlers({ engines }: EngineServices): Handlers<typeof routes> {
  return { list: async () => ({ engines: await engines.list() }) };
}
