/**
 * A person's message that was read is answered, or its writer is told that it was not. Whoever owes an answer at the end
 * of a turn is told so once, by one more message; if nothing comes of that, each message is noted as unanswered. Pure.
 */
import type { EventBody } from "../../shared/agent/events.ts";
import type { ThreadFold, VoiceFold } from "../../shared/agent/fold-types.ts";
import { owesAnswer } from "../../shared/agent/fold-voice.ts";
import { timeOf } from "../../shared/clock-text.ts";
import { job, printPrincipal } from "../../shared/principal.ts";

/** More are not named: their number is told. */
const MAX_NAMED = 10;

export function netBodies(fold: ThreadFold): EventBody[] {
  const { voice } = fold;
  if (!voice || !owesAnswer(fold)) return [];
  const isTold = ({ messageId }: Owed) => voice.heldIds.includes(messageId);
  const told = voice.owed.filter(isTold);
  const fresh = voice.owed.filter((owed) => !isTold(owed));
  return [
    ...(told.length > 0 ? [{ type: "voice_unanswered" as const, messageIds: told.map(idOf) }] : []),
    ...(fresh.length > 0 ? remind(fresh, fold.seq) : []),
  ];
}

type Owed = VoiceFold["owed"][number];
const idOf = ({ messageId }: Owed) => messageId;

/** Both at once: a runner that is killed in between would tell it twice. */
function remind(owed: readonly Owed[], seq: number): EventBody[] {
  const named = owed.slice(0, MAX_NAMED).map(({ handle, at }) => `${handle} of ${timeOf(at)}`);
  const more = owed.length > MAX_NAMED ? ` and ${owed.length - MAX_NAMED} more` : "";
  const text = `These messages have no answer yet: ${named.join(", ")}${more}. Your text is private: answer with the tool message, or call done if nothing is to be said.`;
  return [
    { type: "voice_held", messageIds: owed.map(idOf) },
    {
      type: "user_message",
      messageId: `net-${seq}`,
      source: printPrincipal(job("net")),
      content: [{ type: "text", text }],
      plain: true,
      handle: "threadmux",
      hops: 1,
    },
  ];
}
