/** Agents that have ended, or are locked: whoever writes to one is asked what is to become of the message. */
import { isOpen } from "../../shared/api.ts";
import { AppError } from "../../shared/errors.ts";
import type { DiscordId } from "../../shared/ids.ts";
import { kindOf } from "../../shared/kinds.ts";
import type { LedgerRow } from "../../shared/ledger-api.ts";
import { KeyedQueue } from "../../shared/lifecycle.ts";
import type { Log } from "../../shared/log.ts";
import { endedButtons } from "../content/buttons.ts";
import { Ledger, POST } from "../delivery/ledger.ts";
import { outgoing } from "../delivery/outgoing.ts";
import { shownBy } from "../delivery/plan.ts";
import type { DiscordApi } from "../discord/api.ts";
import type { DiscordMessage } from "../discord/message-schema.ts";
import { findRefusal } from "../discord/refusals.ts";
import { agent } from "../kinds/agent.ts";
import { channelIdOf, isInDiscord, type ThreadInDiscord } from "../sidecar/names.ts";
import type { Vm } from "../sidecar/vm.ts";
import type { Beginnings } from "./beginnings.ts";
import type { Channels } from "./channels.ts";
import type { Endings } from "./endings.ts";
import { leftOut, type PersonFiles } from "./person-files.ts";

export const ENDED_QUESTION =
  "⏹ This agent was ended, so nobody reads this. It can go on here, or another one can start that knows this conversation.";

/** How many answers are remembered; their buttons go once they have worked. */
const MAX_MADE = 100;

const ASKED = `${POST}ended.`;

/** Whether a thread that is over waits for an answer to such a question, which nobody can give once it is archived. */
export function isAsking(rows: readonly LedgerRow[], lastMessageId: string | undefined): boolean {
  return rows.some(({ key, messageId }) => key.startsWith(ASKED) && messageId === lastMessageId);
}

export interface EndedThreadsOptions {
  api: DiscordApi;
  vm: Vm;
  beginnings: Beginnings;
  channels: Pick<Channels, "choose">;
  endings: Endings;
  files: PersonFiles;
  botId: string;
  log: Log;
}

/** Who pressed a button below such a question, and the message that it is about. */
interface Pressed {
  threadId: DiscordId;
  messageId: DiscordId;
  userId: string;
}

export class EndedThreads {
  readonly #options: EndedThreadsOptions;
  /** The questions about one thread are asked one after the other; a thread that goes on again gets none. */
  readonly #queue = new KeyedQueue();
  /** The thread that was made last of each message, so that a second press gets the same one. */
  readonly #made = new Map<DiscordId, Promise<DiscordId>>();

  constructor(options: EndedThreadsOptions) {
    this.#options = options;
  }

  /** Asks below a message, once, if it was written to an agent that has ended. @returns whether it was */
  ask(message: DiscordMessage): Promise<boolean> {
    const { channel_id: threadId, id } = message;
    return this.#queue.run(threadId, async () => {
      try {
        if (!(await this.#isEnded(threadId))) return false;
        await this.#ask(threadId, id);
        return true;
      } catch (error) {
        if (findRefusal(error) === undefined) throw error;
        this.#options.log.warn({ threadId, err: error }, "could not ask about a message to an ended agent");
        return false;
      }
    });
  }

  /** @throws AppError */
  goOnHere(pressed: Pressed): Promise<void> {
    return this.#queue.run(pressed.threadId, async () => {
      const { thread, ...words } = await this.#find(pressed);
      const { messageId, userId } = pressed;
      if (isOpen(thread.status)) throw new AppError("thread_exists", "It goes on already: write to it.");
      await this.#options.beginnings.goOnHere(thread, { ...words, userId, messageId });
    });
  }

  /**
   * A thread that knows this one's conversation, and gets the message first.
   * @returns its id
   * @throws AppError
   */
  startNew(pressed: Pressed, onWait: (ms: number) => void): Promise<DiscordId> {
    const { messageId } = pressed;
    const known = this.#made.get(messageId);
    if (known) return known;
    const making = this.#startNew(pressed, onWait);
    this.#made.set(messageId, making);
    making.catch(() => this.#made.delete(messageId));
    const [oldest] = this.#made.keys();
    if (this.#made.size > MAX_MADE && oldest !== undefined) this.#made.delete(oldest);
    return making;
  }

  async #startNew(pressed: Pressed, onWait: (ms: number) => void): Promise<DiscordId> {
    const { beginnings, channels } = this.#options;
    const { thread, text, isPlain } = await this.#find(pressed);
    const { userId } = pressed;
    const channelId = channels.choose(thread.dir, channelIdOf(thread));
    if (isOpen(thread.status))
      return beginnings.branch({ channelId, parent: thread, userId, text, isPlain }, onWait);
    const known = { originThreadId: thread.ownId };
    const first = { command: text, isPlain };
    const place = { channelId, dir: thread.dir };
    return beginnings.create({ type: agent.type, ...place, ...first, userId, agent: known }, onWait);
  }

  async #isEnded(threadId: DiscordId): Promise<boolean> {
    try {
      const thread = await this.#options.vm.thread(threadId).get();
      return kindOf(thread).hasTurns && !isOpen(thread.status);
    } catch (error) {
      if (error instanceof AppError && ["not_found", "invalid_request"].includes(error.code)) return false;
      throw error;
    }
  }

  /** Nobody keeps the thread's ledger any more, so it is taken up for this message alone. */
  async #ask(threadId: DiscordId, messageId: DiscordId): Promise<void> {
    const { api, vm, endings, botId } = this.#options;
    // Below its end, and not before it is archived: nobody can press a button in an archived thread.
    await endings.untilLetGo(threadId);
    const key = ASKED + messageId;
    const handle = vm.thread(threadId);
    const ledger = new Ledger({
      threadId,
      rows: await vm.findLedger(threadId),
      put: (key, note) => handle.putMessage(key, note),
      findNewest: async () => (await api.findChannel(threadId))?.lastMessageId,
      isReused: true,
      api,
      botId,
    });
    await ledger.settle();
    if (ledger.find(key)) return;
    const question = { text: ENDED_QUESTION, buttons: endedButtons(messageId), replyTo: messageId };
    await ledger.send(key, outgoing(question), shownBy(question));
  }

  async #find({
    threadId,
    messageId,
  }: Pressed): Promise<{ thread: ThreadInDiscord; text: string; isPlain: boolean }> {
    const { api, vm, files } = this.#options;
    const thread = await vm.thread(threadId).get();
    if (!isInDiscord(thread)) throw new Error(`${threadId} has no Discord thread`);
    if (!kindOf(thread).hasTurns) throw new AppError("unsupported", `This thread is ${kindOf(thread).name}.`);
    const message = await api.findMessage(threadId, messageId);
    if (!message) throw new AppError("not_found", "That message is gone.");
    const { texts, isPlain, rest } = await files.wordsOf(message, agent.reading);
    if (texts.length > 0) return { thread, text: texts.join("\n\n"), isPlain };
    throw new AppError(
      "invalid_request",
      leftOut(message, rest, agent.reading) ?? "There are no words in that message.",
    );
  }
}
