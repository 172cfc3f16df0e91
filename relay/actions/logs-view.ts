/** Holds what a thread of logs shows, lets it go on, or shows all lines again. */
import { action } from "./frame/action.ts";
import { oneOf } from "./frame/parts.ts";

const VIEWS = {
  pause: { paused: true },
  resume: { paused: false },
  all: { grep: null },
} as const;

export const logsView = action({
  name: "logs-view",
  parts: { to: oneOf(Object.keys(VIEWS) as (keyof typeof VIEWS)[]) },
  right: "press",
  first: "update",
  isOfSession: true,
  run: async ({ to }, { threadId }, { vm }) => {
    await vm.thread(threadId).setView(VIEWS[to]);
  },
});
