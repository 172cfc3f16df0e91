/** Leaves the worktree alone that `/thread worktree` shows. */
import { action, people } from "./frame/action.ts";

export const worktreeKeep = action({
  name: "worktree-keep",
  parts: {},
  mayPress: people,
  first: "update",
  run: (_, press) => press.show({ content: "The worktree stays.", buttons: [] }),
});
