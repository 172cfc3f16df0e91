/** The part of the fold that knows what an agent that speaks with a tool owes to people: each message it has read. */
import type { DiscordId } from "../ids.ts";
import { findDiscordId } from "../principal.ts";
import type { EventOf, ThreadEvent } from "./events.ts";
import { hasAskOfWork } from "./fold-held.ts";
import { isForeign } from "./fold-messages.ts";
import type { ThreadFold, VoiceFold, WaitingMessage } from "./fold-types.ts";

/** More are not kept: the oldest are neither held for nor told. */
const MAX_OWED = 500;
const MAX_CALLS = 100;

/** The tools' names, as engines call them. */
const SPEAKING = /(^|_)(message|done)$/;

const NONE: VoiceFold = { owed: [], calls: [], said: [], heldIds: [] };

export function foldVoice(fold: ThreadFold, event: ThreadEvent): ThreadFold {
  const voice = voiceAfter(fold, event);
  return voice === undefined || voice === fold.voice ? fold : { ...fold, voice };
}

/** Whether somebody is to be told, or the agent, that a message has no answer: nothing else is to be done before. */
export function owesAnswer(fold: ThreadFold): boolean {
  if (!fold.voice || fold.voice.owed.length === 0) return false;
  if (fold.isKilled || fold.isPaused || fold.failure || fold.stoppedAt !== null || fold.usageLimit)
    return false;
  const isAtWork = fold.turn !== null || fold.cutOffs.at !== null;
  return !isAtWork && fold.messages.length === 0 && fold.deliveries.length === 0 && !hasAskOfWork(fold);
}

/** The channels of people's messages that it is at work on; none while it rests or waits for a person. */
export function workedOnIn(fold: ThreadFold): DiscordId[] {
  if (!fold.voice || fold.turn === null || hasAskOfWork(fold)) return [];
  const own = fold.deliveries.flatMap(({ messages }) => messages.filter((one) => !isForeign(one)));
  return [...new Set(own.flatMap(({ channelId = [] }) => channelId))];
}

function voiceAfter(fold: ThreadFold, event: ThreadEvent): VoiceFold | undefined {
  const { voice = NONE } = fold;
  switch (event.type) {
    case "delivery":
      return withAskers(fold, voice, event.deliveryId);
    case "delivery_update":
      return event.status === "started" ? read(fold, voice, event) : fold.voice;
    case "tool_call": {
      if (!fold.voice || !SPEAKING.test(event.name)) return fold.voice;
      const call = { callId: event.toolCallId, seq: event.seq };
      return { ...voice, calls: [...voice.calls, call].slice(-MAX_CALLS) };
    }
    case "voice_message": {
      const { callId, messageId, address } = event;
      const said = [...voice.said, { callId, messageId, address }].slice(-MAX_CALLS);
      return without({ ...voice, said }, (owed) => isAnsweredBy(owed, event), calledAt(voice, event));
    }
    case "voice_done":
      return without(voice, () => true, calledAt(voice, event));
    case "message_withdraw":
      return fold.voice && without(voice, ({ messageId }) => messageId === event.messageId);
    case "voice_held":
      return { ...voice, heldIds: [...voice.heldIds, ...event.messageIds] };
    case "voice_unanswered":
      return without(voice, ({ messageId }) => event.messageIds.includes(messageId));
    default:
      return fold.voice;
  }
}

/** Notes for whom it is at work. What no person wrote, such as the end of a child, goes on with what people wanted. */
function withAskers(fold: ThreadFold, voice: VoiceFold, deliveryId: string): VoiceFold | undefined {
  const messages = fold.deliveries.find((open) => open.deliveryId === deliveryId)?.messages ?? [];
  const before = fold.turn === null ? [] : (voice.askers ?? []);
  const found = messages.filter((message) => message.handle !== undefined && !isForeign(message));
  if (found.length === 0) return fold.voice;
  const askers = found.map(({ source, channelId }) => ({ source, ...(channelId && { channelId }) }));
  const isKnown = (one: Asker) => before.some((other) => isSame(one, other));
  const fresh = askers.filter((one, at) => !isKnown(one) && askers.findIndex((a) => isSame(a, one)) === at);
  return { ...voice, askers: [...before, ...fresh] };
}

type Asker = NonNullable<VoiceFold["askers"]>[number];
const isSame = (one: Asker, other: Asker) => one.source === other.source && one.channelId === other.channelId;

/** Notes that the model has read a person's message in a channel: from then on it owes one answer, however often the message is delivered. */
function read(
  fold: ThreadFold,
  voice: VoiceFold,
  { deliveryId, seq }: EventOf<"delivery_update">,
): VoiceFold | undefined {
  const messages = fold.deliveries.find((open) => open.deliveryId === deliveryId)?.messages ?? [];
  const isKnown = ({ messageId }: WaitingMessage) => voice.owed.some((one) => one.messageId === messageId);
  const owed = messages.flatMap((message) => {
    const { messageId, source, handle, channelId, at } = message;
    if (isForeign(message) || isKnown(message)) return [];
    if (handle === undefined || channelId === undefined || at === undefined) return [];
    return [{ messageId, source, handle, channelId, at, seq }];
  });
  return owed.length === 0 ? fold.voice : { ...voice, owed: [...voice.owed, ...owed].slice(-MAX_OWED) };
}

type Owed = VoiceFold["owed"][number];

/** True if the message went to the whole channel of the owed one, or to its writer in any channel. */
function isAnsweredBy({ source, channelId }: Owed, message: EventOf<"voice_message">): boolean {
  if (message.personId === undefined) return message.channelId === channelId;
  return message.personId === findDiscordId(source);
}

/** When the call was made: what was read after it is not what it answers. Now, if nobody knows. */
function calledAt({ calls }: VoiceFold, { callId, seq }: { callId: string; seq: number }): number {
  return calls.find((call) => call.callId === callId)?.seq ?? seq;
}

function without(
  voice: VoiceFold,
  isSettled: (owed: Owed) => boolean,
  before = Number.POSITIVE_INFINITY,
): VoiceFold {
  const owed = voice.owed.filter((one) => !(isSettled(one) && one.seq < before));
  if (owed.length === voice.owed.length) return voice;
  const heldIds = voice.heldIds.filter((id) => owed.some(({ messageId }) => messageId === id));
  return { ...voice, owed, heldIds };
}
