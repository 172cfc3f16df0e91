/** Shows what a turn changed, file by file, as far as its calls tell. */
import { diffSections } from "../content/transcript/details.ts";
import { isTurnEnd, sectionsReply } from "../content/transcript/sections.ts";
import { readFrom } from "../sidecar/transcript-reader.ts";
import { action } from "./frame/action.ts";
import { whole } from "./frame/parts.ts";

/** `seq`: the event with which the turn began. */
export const diff = action({
  name: "diff",
  parts: { seq: whole },
  right: "read",
  first: "private reply",
  isOfSession: true,
  run: async ({ seq }, press, { vm }) => {
    const thread = vm.thread(press.threadId);
    const turn = await readFrom(thread, seq, isTurnEnd);
    await press.show(await sectionsReply(thread, "What this turn changed", turn, diffSections, "turn.diff"));
  },
});
