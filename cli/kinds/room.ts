/** A room at the command line: its log tells who says what, and what is sent is said to its members. */
import { readMessage } from "../stdin.ts";
import { type CliKind, refuseOption } from "./kind.ts";
import { terminal } from "./terminal.ts";

export const room: CliKind = {
  asks: "members",
  wait: "end",
  waits: terminal.waits,
  send: async (client, threadId, { text, keys, stdin, enter, paste, nextTurn, attach }) => {
    if (nextTurn) refuseOption("--next-turn", threadId, "is a room; its members have turns");
    if (attach.length > 0) refuseOption("--attach", threadId, "is a room, which takes text");
    if (paste !== undefined) refuseOption(paste ? "--paste" : "--no-paste", threadId, "is a room");
    if (keys.length > 0) refuseOption("--key", threadId, "is a room, which takes text");
    await client.sendInput(threadId, { text: text ?? (await readMessage(stdin)), enter });
    return 1;
  },
  tail: terminal.tail,
};
