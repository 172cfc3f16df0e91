/** A browser at the command line: its log tells a line at a time what it shows, and text opens, clicks or is typed. */
import { readMessage } from "../stdin.ts";
import { type CliKind, refuseOption } from "./kind.ts";
import { terminal } from "./terminal.ts";

export const browser: CliKind = {
  asks: "url",
  wait: "end",
  waits: terminal.waits,
  send: async (client, threadId, { text, keys, stdin, enter, paste, nextTurn, attach }) => {
    if (nextTurn) refuseOption("--next-turn", threadId, "is a browser; it has no turns");
    if (attach.length > 0)
      refuseOption("--attach", threadId, "is a browser, which takes text; an agent takes files");
    if (paste !== undefined) refuseOption(paste ? "--paste" : "--no-paste", threadId, "is a browser");
    for (const key of keys) await client.sendInput(threadId, { key });
    if (keys.length > 0) return keys.length;
    await client.sendInput(threadId, { text: text ?? (await readMessage(stdin)), enter });
    return 1;
  },
  tail: terminal.tail,
};
