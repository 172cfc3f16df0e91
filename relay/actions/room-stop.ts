/** Ends the round of the room that the button stands in. */
import { action } from "./frame/action.ts";

export const roomStop = action({
  name: "room-stop",
  parts: {},
  right: "press",
  first: "update",
  isOfSession: true,
  run: async (_, { threadId }, { vm }) => {
    await vm.rooms.stop(threadId);
  },
});
