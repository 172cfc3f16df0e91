/** Serves a channel with the directory that a person chose below `/here`. */
import { action } from "./frame/action.ts";
import { messageId, path } from "./frame/parts.ts";

export const hereDir = action({
  name: "here-dir",
  parts: { channelId: messageId, dir: path },
  right: "settings",
  first: "update",
  run: async ({ channelId, dir }, press, { here, vm }) =>
    press.show(await here.set(channelId, { dir }, vm, press.userId)),
});
