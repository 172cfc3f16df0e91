/** A message that one agent writes to another, as its reader's inbox takes it. Pure. */
import type { AgentConfig } from "../../shared/agent/config.ts";
import type { InboxLine } from "../../shared/agent/inbox.ts";
import type { HoldReason } from "../../shared/agent/message-fields.ts";
import { AppError } from "../../shared/errors.ts";
import { printPrincipal, printThreadAddress, threadPrincipal } from "../../shared/principal.ts";

export interface AgentMessage {
  messageId: string;
  /** The thread that wrote it, by its token. */
  from: string;
  fromNumber?: number | undefined;
  text: string;
  hops: number;
  /** The jobs that led to it. */
  causes?: readonly string[] | undefined;
  held?: HoldReason | undefined;
  /** Its writer is marked, and so is its reader: where the text from outside came from. */
  marks?: string | undefined;
  /** In place of its writer's address: who wrote it, in a room. */
  handle?: string;
  /** The voice of the thread that gets it. */
  voice?: AgentConfig["voice"];
}

/** It expands nothing: no commands, no @paths. */
export function agentMessageLine(
  { messageId, from, fromNumber, text, hops, causes = [], held, voice, handle }: AgentMessage,
  now: number,
): InboxLine {
  return {
    ts: new Date(now).toISOString(),
    op: "message",
    messageId,
    source: printPrincipal(threadPrincipal(from)),
    content: [{ type: "text", text }],
    plain: true,
    hops,
    ...(causes.length > 0 && { causes: [...causes] }),
    ...(fromNumber !== undefined && { fromNumber }),
    ...(held && { held }),
    ...(voice && {
      handle: handle ?? printThreadAddress(fromNumber === undefined ? from : `#${fromNumber}`),
    }),
  };
}

/** @throws AppError in words for the model that writes */
export function refuseMessage(
  reader: { hasMessages: boolean; isPaused: boolean },
  { mode, isLocked }: { mode: AgentConfig["mode"] | undefined; isLocked: boolean | undefined },
): void {
  if (reader.isPaused) throw new AppError("thread_paused", "That thread is paused by a person.");
  if (mode === "single" && reader.hasMessages)
    throw new AppError("thread_single", "That thread takes no second message.");
  if (isLocked) throw new AppError("thread_locked", "That thread was branched and is locked.");
}
