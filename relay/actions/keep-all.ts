/** Leaves the threads alone that `/thread kill-all` asks about. */
import { action } from "./frame/action.ts";

export const keepAll = action({
  name: "keep-all",
  parts: {},
  right: "press",
  first: "update",
  run: (_, press) => press.show({ content: "Nothing was ended.", buttons: [] }),
});
