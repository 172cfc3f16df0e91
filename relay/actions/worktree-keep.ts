/** Leaves the worktree alone that `/thread worktree` shows. */
import { action } from "./frame/action.ts";

export const worktreeKeep = action({
  name: "worktree-keep",
  parts: {},
  right: "press",
  first: "update",
  run: (_, press) => press.show({ content: "The worktree stays.", buttons: [] }),
});
