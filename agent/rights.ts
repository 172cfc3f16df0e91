/** What a thread may no longer do by itself when its engine starts. Pure. */
import type { ThreadConfig } from "../shared/agent/config.ts";
import { BYPASS_MODE } from "../shared/agent/controls.ts";
import type { EventBody } from "../shared/agent/events.ts";
import type { ThreadFold } from "../shared/agent/fold-types.ts";

const TITLE = `The mode ${BYPASS_MODE} is not allowed on this machine (ALLOW_BYPASS): the agent asks again`;

/** A thread whose mode was allowed when it was chosen, and is not now, goes on in the one that asks. */
export function eventsOfRights({ agent, launch }: ThreadConfig, fold: ThreadFold): EventBody[] {
  const mode = fold.chosen.modeId ?? agent.permissionMode;
  if (mode !== BYPASS_MODE || launch.allowBypass) return [];
  return [
    { type: "notice", severity: "warning", title: TITLE },
    { type: "current_mode_update", modeId: "default" },
  ];
}
