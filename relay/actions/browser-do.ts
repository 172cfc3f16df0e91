/** Does the actions on a browser's page that need no text, such as to reload or to scroll. */
import type { SentBrowserOp } from "../../shared/browser/ops.ts";
import { action } from "./frame/action.ts";
import { oneOf } from "./frame/parts.ts";

const OPS = {
  back: { do: "back" },
  reload: { do: "reload" },
  stop: { do: "stop" },
  look: { do: "look" },
  up: { do: "scroll", to: "up" },
  down: { do: "scroll", to: "down" },
  enter: { do: "press", key: "Enter" },
} as const satisfies Record<string, SentBrowserOp>;

export const browserDo = action({
  name: "browser-do",
  parts: { to: oneOf(Object.keys(OPS) as (keyof typeof OPS)[]) },
  right: "type",
  first: "update",
  isOfSession: true,
  run: async ({ to }, { threadId }, { vm }) => {
    await vm.thread(threadId).browser.act(OPS[to]);
  },
});
