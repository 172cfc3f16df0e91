/** Tells the model by an input that a command of its has ended in the background: nothing else would wake it. Pure. */
import type { EventBody } from "../../shared/agent/events.ts";
import { endedTaskId } from "../../shared/agent/fold-tasks.ts";
import type { ThreadFold } from "../../shared/agent/fold-types.ts";
import { job, printPrincipal } from "../../shared/principal.ts";

export function endedTaskBodies({ endedTasks = [], isKilled }: ThreadFold): EventBody[] {
  if (isKilled) return [];
  return endedTasks.map((task): EventBody => {
    const { taskId, title, isLost } = task;
    const text = isLost
      ? `Your command ${taskId} was ended, because the session was restarted: ${title}\nStart it again if it is still wanted.`
      : `Your command ${taskId} has ended: ${title}\nThe tool process tells how, and what it printed.`;
    return {
      ...{ type: "user_message", messageId: endedTaskId(task), source: printPrincipal(job("command")) },
      ...{ content: [{ type: "text", text }], plain: true, handle: "threadmux" },
    };
  });
}
