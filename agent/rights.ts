/** What a thread may no longer do by itself when its engine starts. Pure. */
import type { ThreadConfig } from "../shared/agent/config.ts";
import { ENGINES } from "../shared/agent/engines/engines.ts";
import type { EventBody } from "../shared/agent/events.ts";
import type { ThreadFold } from "../shared/agent/fold-types.ts";

/** A thread whose mode was allowed when it was chosen, and is not now, goes on in the one that asks. */
export function eventsOfRights({ agent, launch }: ThreadConfig, fold: ThreadFold): EventBody[] {
  const mode = fold.chosen.modeId ?? agent.permissionMode;
  const { modes } = ENGINES[agent.engine].capabilities;
  if (modes?.bypass === undefined || mode !== modes.bypass || launch.allowBypass) return [];
  const title = `The mode ${mode} is not allowed on this machine (ALLOW_BYPASS): the agent asks again`;
  return [
    { type: "notice", severity: "warning", title },
    { type: "current_mode_update", modeId: modes.asking },
  ];
}
