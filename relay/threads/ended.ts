/** Agents that have ended, or are locked: whoever writes to one is asked what is to become of the message. */
import { isOpen, type Thread } from "../../shared/api.ts";
import { AppError } from "../../shared/errors.ts";
import type { Log } from "../../shared/log.ts";
import { endedButtons } from "../content/buttons.ts";
import type { DiscordApi, DiscordMessage } from "../discord/api.ts";
import { toComponents } from "../discord/buttons.ts";
import { findRefusal } from "../discord/refusals.ts";
import type { Beginnings } from "./beginnings.ts";
import { leftOut, type PersonFiles } from "./person-files.ts";
import type { Vm } from "./vm.ts";

export const ENDED_QUESTION =
  "⏹ This agent was ended, so nobody reads this. It can go on here, or another one can start that knows this conversation.";

export interface EndedThreadsOptions {
  api: DiscordApi;
  vm: Vm;
  beginnings: Beginnings;
  files: PersonFiles;
  log: Log;
}

/** Who pressed a button below such a question, and the message that it is about. */
interface Pressed {
  threadId: string;
  messageId: string;
  userId: string;
}

export class EndedThreads {
  readonly #options: EndedThreadsOptions;

  constructor(options: EndedThreadsOptions) {
    this.#options = options;
  }

  /** Asks below a message, if it was written to an agent that has ended. @returns whether it was */
  async ask(message: DiscordMessage): Promise<boolean> {
    const { api, vm, log } = this.#options;
    const { channel_id: threadId, id } = message;
    try {
      const thread = await vm.thread(threadId).get();
      if (thread.type !== "agent" || isOpen(thread.status)) return false;
      // The thread has no delivery any more that could keep a ledger; the nonce keeps this from coming twice.
      const components = toComponents(endedButtons(id));
      await api.send(threadId, { content: ENDED_QUESTION, components, replyTo: id, nonce: `end${id}` });
      return true;
    } catch (error) {
      if (error instanceof AppError && ["not_found", "invalid_request"].includes(error.code)) return false;
      if (!(error instanceof AppError) && findRefusal(error) === undefined) throw error;
      log.warn({ threadId, err: error }, "could not ask about a message to an ended agent");
      return false;
    }
  }

  /** @throws AppError */
  async goOnHere(pressed: Pressed): Promise<void> {
    const { thread, text } = await this.#find(pressed);
    const { messageId, userId } = pressed;
    if (isOpen(thread.status)) throw new AppError("thread_exists", "It goes on already: write to it.");
    await this.#options.beginnings.goOnHere(thread, { text, userId, messageId });
  }

  /**
   * A thread that knows this one's conversation, and gets the message first.
   * @returns its id
   * @throws AppError
   */
  async startNew(pressed: Pressed, onWait: (ms: number) => void): Promise<string> {
    const { beginnings } = this.#options;
    const { thread, text } = await this.#find(pressed);
    const { userId, threadId } = pressed;
    if (isOpen(thread.status)) return beginnings.branch({ parent: thread, userId, text }, onWait);
    const agent = { originThreadId: threadId };
    return beginnings.create({ type: "agent", dir: thread.dir, command: text, userId, agent }, onWait);
  }

  async #find({ threadId, messageId }: Pressed): Promise<{ thread: Thread; text: string }> {
    const { api, vm, files } = this.#options;
    const thread = await vm.thread(threadId).get();
    if (thread.type !== "agent") throw new AppError("unsupported", "This thread is a terminal.");
    const message = await api.findMessage(threadId, messageId);
    if (!message) throw new AppError("not_found", "That message is gone.");
    const { texts, rest } = await files.wordsOf(message, true);
    if (texts.length > 0) return { thread, text: texts.join("\n\n") };
    throw new AppError("invalid_request", leftOut(rest, false) ?? "There are no words in that message.");
  }
}
