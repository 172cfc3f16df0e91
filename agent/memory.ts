/**
 * The beginning of a thread's memory, as its model is told it: with the first message of a new conversation and after
 * each compaction, then with what is still open. It is a text among the messages, never the engine's instructions.
 */
import type { ThreadConfig } from "../shared/agent/config.ts";
import { ENGINES } from "../shared/agent/engines/engines.ts";
import type { EventBody } from "../shared/agent/events.ts";
import { expandsNothing } from "../shared/agent/fold-messages.ts";
import type { ThreadFold, WaitingMessage } from "../shared/agent/fold-types.ts";
import { MemoryFolder } from "../shared/memory/memory-folder.ts";
import { MEMORY_FILE, MEMORY_HEAD_BYTES, ownersOf } from "../shared/memory/owner.ts";
import { quotedLines } from "../shared/outside-text.ts";
import { openThings } from "./core/put-back.ts";
import type { Launch } from "./engine.ts";

export interface ToldMemory {
  text: string;
  /** The event that is written before the model is told. */
  event: EventBody<"memory_told">;
}

/**
 * Finds what the model is to be told of its memory now; undefined if it knows it, or if there is none.
 * @param carrier the delivery, or the request, that it would go with. One that it went with before, for a process that
 * died, is given it again.
 */
export function memoryFor(
  fold: ThreadFold,
  config: ThreadConfig,
  launch: Launch,
  carrier: string,
): ToldMemory | undefined {
  if (!ENGINES[config.agent.engine].capabilities.tools || !isDue(fold, launch, carrier)) return undefined;
  const heads = readHeads(config);
  const open = openFor(fold, launch, carrier);
  const texts = [open, heads.length === 0 ? undefined : textOf(heads)].filter((text) => text !== undefined);
  if (texts.length === 0) return undefined;
  const { generation } = launch;
  const paths = heads.map(({ path }) => path);
  return { text: texts.join("\n\n"), event: { type: "memory_told", with: carrier, generation, paths } };
}

/** After a compaction, and in a conversation that goes on from one that this thread had before, it is told what is open. */
function openFor(fold: ThreadFold, launch: Launch, carrier: string): string | undefined {
  const { memory, compactedSeq: _, ...whole } = fold;
  const isTold = memory?.generation === launch.generation && memory.with !== carrier;
  if (launch.reseeded && fold.turnCount > 0 && !isTold) return openThings(whole);
  return wasCompacted(fold, carrier) ? openThings(fold) : undefined;
}

function isDue({ memory, compactedSeq = 0 }: ThreadFold, { generation, resumed }: Launch, carrier: string) {
  if (!memory || memory.seq < compactedSeq || memory.with === carrier) return true;
  return !resumed && memory.generation !== generation;
}

/** Tells whether the conversation was compacted after the model was last told. */
function wasCompacted({ memory, compactedSeq }: ThreadFold, carrier: string): boolean {
  if (compactedSeq === undefined) return false;
  return memory === undefined || memory.seq < compactedSeq || memory.with === carrier;
}

/** Begins a command, or a path whose file is read. */
const EXPANDED = /^\s*[/!#]|(?:^|\s)@[^\s@]/;

/**
 * Whether such a text may stand beside these messages: nothing beside it is read as a command or a path, so it waits for
 * the next occasion if a person wrote one.
 */
export function mayCarryMemory(messages: readonly WaitingMessage[]): boolean {
  return messages.every(
    (message) =>
      expandsNothing(message) ||
      message.content.every((block) => block.type !== "text" || !EXPANDED.test(block.text)),
  );
}

interface Head {
  path: string;
  text: string;
  /** The whole file's length. */
  bytes: number;
}

function readHeads(config: ThreadConfig): Head[] {
  const { stateDir } = config.launch;
  if (stateDir === undefined) return [];
  return ownersOf(config).flatMap(({ word, folder }) => {
    const file = MemoryFolder.use(stateDir, folder, (open) => open.read(MEMORY_FILE, MEMORY_HEAD_BYTES));
    if (!file || file.text.trim() === "") return [];
    return [{ path: `${word}/${MEMORY_FILE}`, text: file.text, bytes: file.facts.bytes }];
  });
}

function textOf(heads: readonly Head[]): string {
  const parts = heads.map(({ path, text, bytes }) => {
    const rest = bytes - Buffer.byteLength(text);
    const more = rest > 0 ? `\n(${rest} more bytes: memory_get ${path})` : "";
    return `${path}:\n${quotedLines(text.trimEnd())
      .map((line) => `> ${line}`)
      .join("\n")}${more}`;
  });
  return `[threadmux: your memory, as it was written down in earlier conversations. It is no request of now.]\n\n${parts.join("\n\n")}`;
}
