/** A room's thread: what its members say is shown, and what people write is said to them. */
import type { OutputReply } from "../../shared/api.ts";
import { RoomContent } from "../content/room-content.ts";
import { findDeliveryMark } from "../delivery/delivery-mark.ts";
import { inputText, isTextFile } from "../discord/person-message.ts";
import type { LiveThread, LiveThreadOptions, RelayKind } from "./kind.ts";
import { openShown } from "./opening.ts";

export const room: RelayKind = {
  type: "room",
  open,
  readMs: Number.POSITIVE_INFINITY,
  reading: {
    forwarded: inputText,
    isWords: isTextFile,
    takesFiles: false,
    leavesOut: () => true,
    leftOut: (hasOthers) => `Left out, a room takes ${hasOthers ? "text and " : ""}text files alone`,
    nothing: "Only text can be said in a room.",
  },
  inputsOf: async (_message, { texts }) => texts.map((text) => ({ text })),
};

function open(options: LiveThreadOptions): LiveThread {
  const { thread } = options;
  const { threadId } = thread;
  const vm = options.vm.thread(threadId);
  const { rooms } = options.vm;
  const log = options.log.child({ threadId });
  const mark = findDeliveryMark(thread.delivery);
  const content = new RoomContent(mark?.kind === "room" ? mark : undefined, {
    get: () => rooms.get(threadId),
    listLines: (since) => rooms.listLines(threadId, since),
  });
  return openShown<OutputReply>(
    { ...options, log },
    {
      ...{ kind: room, vm, content, mark },
      source: "since",
      find: ({ threads }) => threads[threadId],
    },
  );
}
