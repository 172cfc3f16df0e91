/** Leaves the threads alone that `/thread kill-all` asks about. */
import { action, people } from "./frame/action.ts";

export const keepAll = action({
  name: "keep-all",
  parts: {},
  mayPress: people,
  first: "update",
  run: (_, press) => press.show({ content: "Nothing was ended.", buttons: [] }),
});
