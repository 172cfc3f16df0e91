/** Makes the lines of a message in its thread's inbox, with those that come before it. */
import { randomUUID } from "node:crypto";
import type { InboxLine } from "../../shared/agent/inbox.ts";
import type { HoldReason } from "../../shared/agent/message-fields.ts";
import type { Block } from "../../shared/agent/values.ts";
import type { ThreadId } from "../../shared/ids.ts";
import { findDiscordId, type Principal } from "../../shared/principal.ts";
import type { Store } from "../store/store.ts";
import type { Outside } from "../threads/kinds/kind.ts";
import type { AgentFolders } from "./folders.ts";
import { letIn } from "./outside.ts";
import { messageLine } from "./requests.ts";
import { Sources } from "./sources.ts";

export interface MessageLinesOptions {
  store: ConstructorParameters<typeof Sources>[0] & Pick<Store, "spoken">;
  folders: AgentFolders;
  now: () => number;
}

interface Message {
  text: string;
  by: Principal;
  inputId?: string | undefined;
  plain?: boolean | undefined;
  when?: "now" | "next_turn" | undefined;
  channelId?: string | undefined;
  hops?: number | undefined;
  causes?: readonly string[] | undefined;
  held?: HoldReason | undefined;
  outside?: Outside | undefined;
}

export class MessageLines {
  readonly #options: MessageLinesOptions;
  readonly #sources: Sources;

  constructor(options: MessageLinesOptions) {
    this.#options = options;
    this.#sources = new Sources(options.store);
  }

  /**
   * Without a text and a file there is no message; the mark of text from outside stands there all the same.
   * @param files attachments of the thread
   * @param findMode gives the mode that the thread must be put into before text from outside, if it must
   * @throws AppError `invalid_request` if it names a channel and may not
   */
  of(
    threadId: ThreadId,
    message: Message,
    files: readonly Block[],
    findMode?: () => string | undefined,
  ): InboxLine[] {
    const { folders, now } = this.#options;
    const { text, by, inputId, plain, when, hops, causes, held, channelId } = message;
    const place = this.#sources.placeOf(folders.findConfig(threadId)?.agent, by, channelId);
    const outside = letIn(message.outside, { folder: folders.of(threadId), by, now: now() }, findMode);
    const all = [...files, ...outside.files];
    if (text === "" && all.length === 0) return outside.before;
    const messageId = inputId ?? randomUUID();
    const more = { messageId, by, plain, when, files: all, hops, causes, held, place };
    const line = messageLine(text, more, now());
    return [...outside.before, line];
  }

  /** Who wrote what last, and where: an answer to them stands below it. */
  noteHeard(threadId: ThreadId, lines: readonly InboxLine[]): void {
    const { store, now } = this.#options;
    for (const line of lines) {
      if (line.op !== "message" || line.channelId === undefined) continue;
      const personId = findDiscordId(line.source);
      if (personId === undefined) continue;
      const { channelId, messageId: inputId } = line;
      store.spoken.hear({ threadId, channelId, personId, inputId, heardAt: now() });
    }
  }
}
