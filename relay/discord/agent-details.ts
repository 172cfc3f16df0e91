/** *Details*, a command in the menu of a message: what stands behind an agent's message, for the one who asks. */
import {
  ApplicationCommandType,
  ContextMenuCommandBuilder,
  type MessageContextMenuCommandInteraction,
} from "discord.js";
import type { ThreadEvent } from "../../shared/agent/events.ts";
import { AppError } from "../../shared/errors.ts";
import { KINDS } from "../../shared/kinds.ts";
import {
  askSections,
  type DetailSection,
  diffSections,
  isTurnsEnd,
  type MessageKey,
  modelLine,
  nextSeq,
  parseKey,
  plainSections,
  renderSections,
  stepSections,
  textSection,
} from "../content/transcript/details.ts";
import { readFrom, type TranscriptPart } from "../sidecar/transcript-reader.ts";
import type { Vm, VmThread } from "../sidecar/vm.ts";

/** Enough for what a person reads; more would cost memory for nothing. */
const MAX_FILE_BYTES = 4 * 1024 * 1024;
/** The sidecar gives so many steps at once. */
const READ_STEPS = 1_000;

export const DETAILS = "Details";

export const detailsDefinition = new ContextMenuCommandBuilder()
  .setName(DETAILS)
  .setType(ApplicationCommandType.Message)
  .toJSON();

export interface DetailsReply {
  content: string;
  files: { attachment: Buffer; name: string }[];
}

/** The command was used; a private answer has been begun. @throws AppError */
export async function showDetails(
  interaction: MessageContextMenuCommandInteraction,
  { vm }: { vm: Vm },
): Promise<void> {
  const { channelId, targetMessage, applicationId } = interaction;
  const thread = await findAgent(vm, channelId, DETAILS);
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
  await interaction.editReply(await detailsOf(thread, meant, until));
}

/** @param command what was used there, for its refusal @throws AppError */
export async function findAgent(vm: Vm, channelId: string, command: string): Promise<VmThread> {
  const thread = vm.thread(channelId);
  const refusal = `${command} works on the messages of an agent's thread; /status lists them.`;
  const { type } = await thread.get().catch((error: unknown) => {
    if (!(error instanceof AppError && ["not_found", "invalid_request"].includes(error.code))) throw error;
    throw new AppError("invalid_request", refusal, { cause: error });
  });
  if (KINDS[type].hasTurns) return thread;
  throw new AppError(
    "unsupported",
    `${refusal} This is ${KINDS[type].name}'s: /export gives its whole output.`,
  );
}

async function detailsOf(thread: VmThread, key: MessageKey, until: number): Promise<DetailsReply> {
  const { seq, kind } = key;
  const part = await readFrom(thread, seq, isEnd);
  if (kind === "a")
    return reply(thread, "What was asked", await askPart(thread, part, seq), (events) =>
      askSections(events, seq),
    );
  if (kind === "e" || (kind === "w" && isTurnsEnd(part.events))) {
    const turn = await readFrom(thread, await findTurn(thread, seq), isEnd);
    return reply(thread, "What this turn did", turn, (events) =>
      stepSections(events, 0, Number.POSITIVE_INFINITY),
    );
  }
  const isInitial = ({ type }: ThreadEvent) => type === "initial_message";
  const own = { ...part, events: kind === "b" ? part.events.filter(isInitial) : part.events.slice(0, 1) };
  if (kind === "t")
    return reply(thread, "The steps of this message", part, (events) => stepSections(events, seq, until));
  return reply(thread, "The message whole", own, (events) =>
    events.flatMap((event) => textSection(event) ?? []),
  );
}

/** What a turn changed, file by file. @param seq the event with which it began @throws AppError */
export async function turnDiff(thread: VmThread, seq: number): Promise<DetailsReply> {
  const turn = await readFrom(thread, seq, isEnd);
  return reply(thread, "What this turn changed", turn, diffSections, "turn.diff");
}

function isEnd({ type }: ThreadEvent): boolean {
  return type === "turn_end";
}

/** With the call that is asked about, which began before it. */
async function askPart(thread: VmThread, part: TranscriptPart, seq: number): Promise<TranscriptPart> {
  const [request] = part.events;
  const toolCallId = request && "toolCallId" in request ? request.toolCallId : undefined;
  const steps = await thread.listSteps({ beforeSeq: seq, limit: READ_STEPS });
  const call = steps.find(({ kind, stepId }) => kind === "tool" && stepId === toolCallId);
  return call ? readFrom(thread, call.seq, isEnd) : part;
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

async function reply(
  thread: VmThread,
  what: string,
  { events, isCut }: TranscriptPart,
  toSections: (events: readonly ThreadEvent[]) => DetailSection[],
  fileName = "details.txt",
): Promise<DetailsReply> {
  const sections = toSections(await wholeEvents(thread, events));
  const notes = [modelLine(events), isCut ? "-# It is very long: the first 8 MiB of it are here." : ""];
  const below = notes.filter((note) => note !== "").join("\n");
  const head = `🔎 **${what}**`;
  if (sections.length === 0)
    return { content: [head, "No step was taken.", below].join("\n").trim(), files: [] };
  const { text, isClipped } = renderSections(head, sections, below);
  if (!isClipped) return { content: text, files: [] };
  const file = Buffer.from(plainSections(sections, MAX_FILE_BYTES));
  return {
    content: text,
    files: [{ attachment: file.subarray(0, 2 * MAX_FILE_BYTES), name: fileName }],
  };
}

/** With their cut strings whole again, as far as a file can hold them. */
async function wholeEvents(thread: VmThread, events: readonly ThreadEvent[]): Promise<ThreadEvent[]> {
  let room = MAX_FILE_BYTES;
  const whole: ThreadEvent[] = [];
  for (const event of events) {
    const bytes = Object.values(event.blobs ?? {}).reduce((sum, blob) => sum + blob.bytes, 0);
    room -= bytes;
    whole.push(bytes > 0 && room > 0 ? await thread.whole(event, room + bytes) : event);
  }
  return whole;
}
