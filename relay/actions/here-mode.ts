/** Says what a message in a channel does; stands below `/here`. */
import { CHANNEL_MODES } from "../../shared/channel-api.ts";
import { action } from "./frame/action.ts";
import { messageId, oneOf } from "./frame/parts.ts";

export const hereMode = action({
  name: "here-mode",
  parts: { channelId: messageId, mode: oneOf(CHANNEL_MODES) },
  right: "settings",
  first: "update",
  run: async ({ channelId, mode }, press, { here, vm }) =>
    press.show(await here.set(channelId, { mode }, vm, press.userId)),
});
