/** What is said of a thread that was cut off too often, or too long ago, to go on by itself. Pure. */
import type { EventBody } from "../../shared/agent/events.ts";
import type { ThreadFold } from "../../shared/agent/fold-types.ts";

export function giveUp(fold: ThreadFold): EventBody {
  const { count, lastWords } = fold.cutOffs;
  const said = lastWords === undefined ? "" : ` It said: ${lastWords}`;
  const message =
    count > 3
      ? `The agent was cut off ${count} times in a row. It does not go on by itself.${said}`
      : "The agent was cut off more than 10 minutes ago. It does not go on by itself.";
  return { type: "failure", code: "cut_off", message };
}
