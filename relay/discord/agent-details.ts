/** *Details*, a command in the menu of a message: what stands behind an agent's message, for the one who asks. */
import {
  ApplicationCommandType,
  ContextMenuCommandBuilder,
  type MessageContextMenuCommandInteraction,
} from "discord.js";
import type { ThreadEvent } from "../../shared/agent/events.ts";
import { AppError } from "../../shared/errors.ts";
import type { DiscordId } from "../../shared/ids.ts";
import { kindOf } from "../../shared/kinds.ts";
import type { Reply } from "../actions/frame/controls.ts";
import { refusePrivate } from "../content/texts.ts";
import {
  askSections,
  isTurnsEnd,
  type MessageKey,
  nextSeq,
  parseKey,
  stepSections,
  textSection,
} from "../content/transcript/details.ts";
import { isTurnEnd, sectionsReply } from "../content/transcript/sections.ts";
import { readFrom, type TranscriptPart } from "../sidecar/transcript-reader.ts";
import type { Vm, VmThread } from "../sidecar/vm.ts";
import { placeOf } from "./api.ts";
import { toMessage } from "./buttons.ts";

/** The sidecar gives so many steps at once. */
const READ_STEPS = 1_000;

export const DETAILS = "Details";

export const detailsDefinition = new ContextMenuCommandBuilder()
  .setName(DETAILS)
  .setType(ApplicationCommandType.Message)
  .toJSON();

/** The command was used; a private answer has been begun. @throws AppError */
export async function showDetails(
  interaction: MessageContextMenuCommandInteraction,
  { vm }: { vm: Vm },
): Promise<void> {
  const { targetMessage, applicationId } = interaction;
  const thread = await findAgent(vm, placeOf(interaction), DETAILS);
  if (targetMessage.author.id !== applicationId) {
    throw new AppError(
      "invalid_request",
      "Only an agent's messages have details: this one was written by somebody else.",
    );
  }
  const kept = await thread.listKeptMessages();
  const key = kept.find(({ messageId }) => messageId === targetMessage.id)?.key;
  const meant = key === undefined ? undefined : parseKey(key);
  if (!meant) {
    throw new AppError(
      "invalid_request",
      "Nothing stands behind this message: it is not of the agent's work, or of a time before this was kept.",
    );
  }
  const until = nextSeq(
    meant.seq,
    kept.map(({ key }) => key),
  );
  // An ask is for people, so it is shown even if nothing else of the agent is.
  if (meant.kind !== "a") refusePrivate(await thread.get());
  await interaction.editReply(toMessage(await detailsOf(thread, meant, until)));
}

/** @param command what was used there, for its refusal @throws AppError */
export async function findAgent(vm: Vm, channelId: DiscordId, command: string): Promise<VmThread> {
  const thread = vm.thread(channelId);
  const refusal = `${command} works on the messages of an agent's thread; /status lists them.`;
  const found = await thread.get().catch((error: unknown) => {
    if (!(error instanceof AppError && ["not_found", "invalid_request"].includes(error.code))) throw error;
    throw new AppError("invalid_request", refusal, { cause: error });
  });
  const { hasTurns, name } = kindOf(found);
  if (hasTurns) return thread;
  throw new AppError("unsupported", `${refusal} This is ${name}'s: /export gives its whole output.`);
}

async function detailsOf(thread: VmThread, key: MessageKey, until: number): Promise<Reply> {
  const { seq, kind } = key;
  const part = await readFrom(thread, seq, isTurnEnd);
  if (kind === "a")
    return sectionsReply(thread, "What was asked", await askPart(thread, part, seq), (events) =>
      askSections(events, seq),
    );
  if (kind === "e" || (kind === "w" && isTurnsEnd(part.events))) {
    const turn = await readFrom(thread, await findTurn(thread, seq), isTurnEnd);
    return sectionsReply(thread, "What this turn did", turn, (events) =>
      stepSections(events, 0, Number.POSITIVE_INFINITY),
    );
  }
  const isInitial = ({ type }: ThreadEvent) => type === "initial_message";
  const own = { ...part, events: kind === "b" ? part.events.filter(isInitial) : part.events.slice(0, 1) };
  if (kind === "t")
    return sectionsReply(thread, "The steps of this message", part, (events) =>
      stepSections(events, seq, until),
    );
  return sectionsReply(thread, "The message whole", own, (events) =>
    events.flatMap((event) => textSection(event) ?? []),
  );
}

/** With the call that is asked about, which began before it. */
async function askPart(thread: VmThread, part: TranscriptPart, seq: number): Promise<TranscriptPart> {
  const [request] = part.events;
  const toolCallId = request && "toolCallId" in request ? request.toolCallId : undefined;
  const steps = await thread.listSteps({ beforeSeq: seq, limit: READ_STEPS });
  const call = steps.find(({ kind, stepId }) => kind === "tool" && stepId === toolCallId);
  return call ? readFrom(thread, call.seq, isTurnEnd) : part;
}

/** With which event the turn began in which that event lies. */
async function findTurn(thread: VmThread, seq: number): Promise<number> {
  for (let beforeSeq = seq + 1; ; ) {
    const steps = await thread.listSteps({ beforeSeq, limit: READ_STEPS });
    const turn = steps.findLast(({ kind }) => kind === "turn");
    if (turn) return turn.seq;
    const first = steps[0];
    if (!first || steps.length < READ_STEPS) return first?.seq ?? seq;
    beforeSeq = first.seq;
  }
}
