/** What people write, on its way to the process: in order, once, and never silently lost. */
import { isOpen } from "../../shared/api.ts";
import { AppError } from "../../shared/errors.ts";
import type { DiscordId } from "../../shared/ids.ts";
import type { InputRequest } from "../../shared/input-api.ts";
import { kindOf } from "../../shared/kinds.ts";
import { KeyedQueue, pause } from "../../shared/lifecycle.ts";
import type { Log } from "../../shared/log.ts";
import { asLines } from "../../shared/paste.ts";
import type { LetIn } from "../actions/frame/action.ts";
import { type DiscordApi, snowflakeTime } from "../discord/api.ts";
import type { Attended } from "../discord/attended.ts";
import type { DiscordMessage } from "../discord/message-schema.ts";
import type { Attachment } from "../discord/person-message.ts";
import { findRefusal } from "../discord/refusals.ts";
import type { LiveThread, RelayKind } from "../kinds/kind.ts";
import type { VmThread } from "../sidecar/vm.ts";
import type { AbsentThreads } from "./absent-threads.ts";
import type { Access } from "./access.ts";
import type { EndedThreads } from "./ended.ts";
import { InputReplies } from "./input-replies.ts";
import { patiently } from "./patiently.ts";
import { leftOut, type PersonFiles, withFilesAlone } from "./person-files.ts";
import type { Threads } from "./threads.ts";
import { answerToWriter, asLetIn, mayWrite } from "./writers.ts";

/** Written longer ago than this while the relay was away, it is asked about first: the moment may have passed. */
export const MAX_AGE_MS = 10 * 60_000;

/** A text that a person wrote, as it goes to the sidecar. */
interface TextInput {
  text: string;
  inputId: string;
  attachments?: string[];
  paste?: boolean;
}

export interface InputsOptions {
  api: DiscordApi;
  access: Pick<Access, "may" | "learn" | "refusal" | "whoCould">;
  log: Log;
  now: () => number;
  signal: AbortSignal;
  threads: Pick<Threads, "find">;
  files: PersonFiles;
  ended: Pick<EndedThreads, "ask">;
  absent: Pick<AbsentThreads, "whenKnown">;
  attended: Pick<Attended, "note">;
}

export class Inputs {
  readonly #options: InputsOptions;
  readonly #replies: InputReplies;
  readonly #queue = new KeyedQueue();
  #hold = 0;
  /** Resolves when messages that come may go in. */
  #open: Promise<void> = Promise.resolve();
  #release: (() => void) | undefined;

  constructor(options: InputsOptions) {
    this.#options = options;
    this.#replies = new InputReplies(options.log);
  }

  /**
   * Messages that come from now on wait until {@link release}: older ones have to be looked up and go in first.
   * @returns what to release; an older one releases nothing.
   */
  hold(): number {
    if (!this.#release) {
      this.#open = new Promise((resolve) => {
        this.#release = resolve;
      });
    }
    return ++this.#hold;
  }

  /** Resolves when messages that come may go in. */
  whenOpen(): Promise<void> {
    return this.#open;
  }

  release(hold: number): void {
    if (hold !== this.#hold) return;
    this.#release?.();
    this.#release = undefined;
  }

  /**
   * A message that came just now, from whomever: they come in order, so that with this one everything before it is
   * taken care of. Never rejects: its writer is told what went wrong.
   */
  async take(message: DiscordMessage): Promise<void> {
    const { access, threads, ended } = this.#options;
    const { channel_id: threadId } = message;
    await this.#whenOpen(threadId);
    await this.#queue.run(threadId, async () => {
      // Looked up at its turn: what was before it may have taken minutes, in which the thread ended.
      const thread = threads.find(threadId);
      const isTyped = mayWrite(access, message);
      if (!thread) {
        if (isTyped) await patiently({ ...this.#options, threadId }, () => ended.ask(message));
        return;
      }
      if (isTyped) await this.#typeOrReply(message, thread);
      else await this.#tellWhoMay(message, thread);
      thread.delivery.noteSeen(message.id, isTyped);
    });
  }

  /**
   * A person changed a message. If it went to an agent, the agent gets the new words, or the person a reply that it
   * has read the old ones: the transcript says which.
   * @param threadId the thread that got it, if it was written elsewhere.
   */
  async change(message: DiscordMessage, threadId = message.channel_id): Promise<void> {
    if (!mayWrite(this.#options.access, message)) return;
    const { files } = this.#options;
    await this.#amend(threadId, message, async ({ reading }) => {
      const { texts, isPlain } = await files.wordsOf(message, reading);
      return { text: texts.join("\n\n"), isPlain };
    });
  }

  /** As {@link change}, of a message that was deleted. */
  async withdraw(threadId: DiscordId, messageId: DiscordId): Promise<void> {
    await this.#amend(threadId, { id: messageId }, () => Promise.resolve({ text: null, isPlain: false }));
  }

  /** @param wordsFor `text` is null to take it back */
  async #amend(
    threadId: DiscordId,
    { id, author }: Pick<DiscordMessage, "id"> & Partial<Pick<DiscordMessage, "author">>,
    wordsFor: (kind: RelayKind) => Promise<{ text: string | null; isPlain: boolean }>,
  ): Promise<void> {
    const { threads, log } = this.#options;
    await this.#whenOpen(threadId);
    // In the order in which people write: the message itself may still be on its way.
    await this.#queue.run(threadId, async () => {
      const thread = threads.find(threadId);
      if (!thread || !kindOf(thread.kind).hasTurns) return;
      try {
        const { text, isPlain } = await wordsFor(thread.kind);
        const vm = author ? thread.vm.as(author.id) : thread.vm;
        if (text === "") return;
        // A sidecar that is away for a moment must not keep the agent from hearing of it.
        await patiently({ ...this.#options, threadId }, () => vm.amend(id, text, isPlain || undefined));
      } catch (error) {
        // What never went in can't be changed; a thread that is over reads nothing more.
        const isMoot = error instanceof AppError && ["not_found", "thread_ended"].includes(error.code);
        if (!isMoot) log.warn({ threadId, err: error }, "could not pass on a changed message");
      }
    });
  }

  /**
   * A message that was written elsewhere goes into this thread.
   * @param inputId if not the message's own
   * @param channelId where it was written, if its agent is told so
   * @returns what of it did not go in, for its writer; undefined if all did
   * @throws AppError if nothing did
   */
  typeInto(
    thread: LiveThread,
    message: DiscordMessage,
    { inputId, channelId }: { inputId?: string; channelId?: DiscordId } = {},
  ): Promise<string | undefined> {
    const vm = thread.vm.as(message.author.id);
    // The message may stand in a channel, and its writer waits for what comes of it in the thread.
    this.#options.attended.note(thread.threadId);
    const send = (input: TextInput) => this.#send(vm, { ...input, ...(channelId && { channelId }) });
    return this.#queue.run(thread.threadId, () => this.#typeParts(message, thread, send, inputId));
  }

  /** The words of a message began a thread, or went into one: its files follow, and what can't go in is named there. */
  async takeRest(from: DiscordId, messageId: DiscordId, into: DiscordId): Promise<void> {
    const { api, threads, files } = this.#options;
    const message = await api.findMessage(from, messageId);
    const thread = threads.find(into);
    if (!message || !thread) return;
    const { rest } = await files.wordsOf(message, thread.kind.reading);
    const fit = withFilesAlone(message, rest, thread.kind.reading);
    if (fit) await this.typeInto(thread, fit, { inputId: `${messageId}.files` });
    await this.#replies.tellRest(message, thread, leftOut(message, rest, thread.kind.reading));
  }

  /** Takes what was written after `seen` while nobody listened; what is older than 10 minutes is asked about. */
  async backfill(threadId: DiscordId, seen: string): Promise<void> {
    const { access, threads, ended, now } = this.#options;
    await this.#queue.run(threadId, async () => {
      const written = await this.#list(threadId, seen);
      await access.learn(written.map(({ author }) => author.id));
      for (const message of written) {
        const thread = threads.find(threadId);
        const isTyped = mayWrite(access, message);
        if (isTyped) {
          const ageMs = now() - snowflakeTime(message.id);
          const mayHaveEnded = !thread || !isOpen(thread.status);
          const isAsked =
            mayHaveEnded && (await patiently({ ...this.#options, threadId }, () => ended.ask(message)));
          if (thread && !isAsked && ageMs > MAX_AGE_MS) await this.#replies.ask(message, thread, ageMs);
          else if (thread && !isAsked) await this.#typeOrReply(message, thread);
        } else if (thread) await this.#tellWhoMay(message, thread);
        thread?.delivery.noteSeen(message.id, isTyped);
      }
    });
  }

  /**
   * Sends in, after all, a message that was written while the relay was away, or by a guest.
   * @param letIn the person who lets it in, if it is not its writer
   * @throws AppError
   */
  async sendAfterAll(threadId: DiscordId, messageId: DiscordId, letIn?: LetIn): Promise<void> {
    await this.#queue.run(threadId, async () => {
      const { message, thread } = await this.#find(threadId, messageId);
      await this.#type(asLetIn(message, letIn), thread);
    });
  }

  /** A person wants a text with tabs typed, although the program may take them for a key. @throws AppError */
  async typeAnyway(threadId: DiscordId, messageId: DiscordId): Promise<void> {
    await this.#queue.run(threadId, async () => {
      const { message, thread } = await this.#find(threadId, messageId);
      await this.#type(message, thread, (input) =>
        this.#send(thread.vm.as(message.author.id), { ...input, text: asLines(input.text), paste: false }),
      );
    });
  }

  /**
   * A person lets a paused agent go on with what somebody wrote to it: both happen or neither.
   * @param userId who pressed the button.
   * @throws AppError
   */
  async resumeAndSend(threadId: DiscordId, messageId: DiscordId, userId: string): Promise<void> {
    await this.#queue.run(threadId, async () => {
      const { message, thread } = await this.#find(threadId, messageId);
      await this.#type(message, thread, async (input) => {
        await thread.vm.as(userId).control({ control: "resume", input });
        return {};
      });
    });
  }

  async #tellWhoMay(message: DiscordMessage, thread: LiveThread): Promise<void> {
    const answer = answerToWriter(this.#options.access, message);
    if (answer) await this.#replies.answer(message, thread, answer);
  }

  /** As {@link whenOpen}, for what comes in this thread: while it is looked up, what was missed there is not known. */
  async #whenOpen(threadId: DiscordId): Promise<void> {
    await this.#open;
    await this.#options.absent.whenKnown(threadId);
  }

  /** A message that was left out before, and its thread. @throws AppError `not_found` */
  async #find(
    threadId: DiscordId,
    messageId: DiscordId,
  ): Promise<{ message: DiscordMessage; thread: LiveThread }> {
    const { api, threads } = this.#options;
    const message = await api.findMessage(threadId, messageId);
    const thread = threads.find(threadId);
    if (!message || !thread) throw new AppError("not_found", "That message or its thread is gone.");
    return { message, thread };
  }

  /** Until it works: with what comes later, what was missed would count as taken care of. */
  async #list(threadId: DiscordId, seen: string): Promise<DiscordMessage[]> {
    const { api, signal, log } = this.#options;
    for (let waitMs = 1_000; ; waitMs = Math.min(waitMs * 2, 15_000)) {
      try {
        return await api.listMessagesAfter(threadId, seen);
      } catch (error) {
        if (signal.aborted || findRefusal(error) !== undefined) throw error;
        log.warn({ threadId, err: error }, "could not look up what was written meanwhile; trying again");
        await pause(waitMs, signal);
      }
    }
  }

  async #typeOrReply(message: DiscordMessage, thread: LiveThread): Promise<void> {
    const { log } = this.#options;
    try {
      await this.#type(message, thread);
    } catch (error) {
      if (!(error instanceof AppError)) log.error({ err: error }, "could not type a message");
      // It has ended this moment, and is still served.
      const hasEnded = error instanceof AppError && error.code === "thread_ended";
      if (hasEnded && kindOf(thread.kind).hasTurns && (await this.#options.ended.ask(message))) return;
      await this.#replies.refuse(message, thread, error);
    }
  }

  async #type(
    message: DiscordMessage,
    thread: LiveThread,
    send?: (input: TextInput) => Promise<{ hidden?: boolean | undefined }>,
  ): Promise<void> {
    await this.#replies.tellRest(message, thread, await this.#typeParts(message, thread, send));
  }

  /** @returns what of it did not go in */
  async #typeParts(
    message: DiscordMessage,
    thread: LiveThread,
    send = (input: TextInput) => this.#send(thread.vm.as(message.author.id), input),
    inputId: string = message.id,
  ): Promise<string | undefined> {
    let isHidden = false;
    const { log, files } = this.#options;
    const { kind, threadId } = thread;
    const words = await files.wordsOf(message, kind.reading);
    const attach = (rest: readonly Attachment[]) =>
      patiently({ ...this.#options, threadId }, () => files.attach(rest, thread.vm.as(message.author.id)));
    const inputs = await kind.inputsOf(message, words, attach);
    const missing = leftOut(message, words.rest, kind.reading);
    if (inputs.length === 0) {
      if (missing === undefined)
        log.warn("a message came without its content: is the Message Content intent on?");
      throw new AppError("invalid_request", missing ?? kind.reading.nothing);
    }
    // What it causes belongs below it.
    thread.delivery.breakPage();
    for (const [part, input] of inputs.entries()) {
      const { hidden } = await send({
        ...input,
        inputId: part === 0 ? inputId : `${inputId}.${part}`,
      });
      isHidden ||= hidden === true;
    }
    if (isHidden) await this.#replies.hidden(message, thread);
    return missing;
  }

  /** The sidecar types an id once, so asking again is safe. */
  #send(thread: VmThread, input: InputRequest): Promise<{ hidden?: boolean | undefined }> {
    return patiently({ ...this.#options, threadId: thread.threadId }, () => thread.send(input));
  }
}
