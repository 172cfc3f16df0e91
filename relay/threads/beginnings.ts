/** How threads begin: a Discord thread, a thread on the VM, and the message that says what was asked for. */
import { type CreateRequest, isOpen, type ThreadType } from "../../shared/api.ts";
import type { Budget } from "../../shared/budget.ts";
import { cleanLine } from "../../shared/clean-text.ts";
import { clip } from "../../shared/clip.ts";
import { AppError } from "../../shared/errors.ts";
import type { DiscordId } from "../../shared/ids.ts";
import type { LedgerRow } from "../../shared/ledger-api.ts";
import type { Log } from "../../shared/log.ts";
import { MAX_TITLE_CHARACTERS, threadName } from "../../shared/title.ts";
import { branchText, errorSentence, openingText } from "../content/texts.ts";
import type { DiscordApi } from "../discord/api.ts";
import type { Attended } from "../discord/attended.ts";
import { findRefusal } from "../discord/refusals.ts";
import type { ThreadMaker } from "../discord/thread-maker.ts";
import { channelIdOf, type DiscordPlace, type Thread, type ThreadInDiscord } from "../sidecar/names.ts";
import type { Vm, VmThread } from "../sidecar/vm.ts";
import type { Endings } from "./endings.ts";
import type { Threads } from "./threads.ts";

export interface BeginningsOptions {
  vm: Vm;
  threads: Threads;
  endings: Endings;
  threadMaker: ThreadMaker;
  attended: Pick<Attended, "note">;
  api: DiscordApi;
  log: Log;
}

export interface NewThread {
  /** The channel in which its Discord thread is made. */
  channelId: DiscordId;
  type: ThreadType;
  dir: string;
  command: string;
  /** The command is not a person's typed words alone. Of agents. */
  isPlain?: boolean;
  userId: string;
  /** How an agent is to work. */
  agent?: NonNullable<CreateRequest["agent"]>;
  /** The most that the new thread may take of the machine. */
  budget?: Budget | undefined;
}

export interface NewFollow {
  channelId: DiscordId;
  dir: string;
  service: string;
  grep?: string;
  userId: string;
}

export interface NewBranch {
  channelId: DiscordId;
  parent: Thread;
  userId: string;
  /** The point; the newest one if neither is given. */
  seq?: number;
  messageId?: string;
  /** The first message; without it, the branch waits for one. */
  text?: string;
  /** It is not a person's typed words alone. */
  isPlain?: boolean;
  /** A link to the message at which it leaves. */
  from?: string;
  /** In a worktree of its own, with the files from then. */
  files?: boolean;
  agent?: { model?: string; permissionMode?: string };
}

interface Beginning {
  channelId: DiscordId;
  title: string;
  userId: string;
  /** The first message of the thread that was made. */
  opening: (thread: Thread) => string;
  make: (place: DiscordPlace) => Promise<VmThread>;
}

export class Beginnings {
  readonly #options: BeginningsOptions;

  constructor(options: BeginningsOptions) {
    this.#options = options;
  }

  /**
   * Makes a Discord thread and a thread on the VM. The sidecar is asked before whether it would refuse: a Discord thread
   * that is removed again leaves a line in its channel. If it refuses only then, the Discord thread is removed.
   * @param onWait is told how long Discord makes us wait for the thread.
   * @throws AppError with the sidecar's sentence, or Discord's.
   */
  async create(asked: NewThread, onWait: (ms: number) => void): Promise<DiscordId> {
    const { channelId, userId } = asked;
    const title = threadName(asked);
    const vm = this.#options.vm.as(userId);
    const request = requestOf(title, asked);
    await vm.create(nowhereIn(channelId), { ...request, dryRun: true });
    const make = (place: DiscordPlace) => vm.create(place, request);
    const opening = ({ engine }: Thread) => openingText(asked, userId, engine);
    return this.#begin({ channelId, title, userId, make, opening }, onWait);
  }

  /** The same for a thread that follows logs. @throws AppError as {@link create} */
  async follow({ channelId, userId, ...asked }: NewFollow, onWait: (ms: number) => void): Promise<DiscordId> {
    const { dir, service } = asked;
    const command = `logs ${service}`;
    const title = threadName({ type: "terminal", dir, command });
    const vm = this.#options.vm.as(userId);
    const request = { title, ...asked };
    await vm.follow(nowhereIn(channelId), { ...request, dryRun: true });
    const make = (place: DiscordPlace) => vm.follow(place, request);
    const opening = () => openingText({ type: "terminal", dir, command }, userId);
    return this.#begin({ channelId, title, userId, make, opening }, onWait);
  }

  /**
   * Makes a Discord thread in which an agent goes on from a point of another one's conversation. The other one goes on
   * as before.
   * @throws AppError as {@link create}
   */
  async branch(asked: NewBranch, onWait: (ms: number) => void): Promise<DiscordId> {
    const { channelId, parent, userId, text, isPlain, from, ...point } = asked;
    const title = clip(cleanLine(`↳ ${parent.title}`), MAX_TITLE_CHARACTERS);
    const request = {
      title,
      lockParent: false,
      ...(text !== undefined && { text }),
      ...(isPlain && { plain: true }),
      ...point,
    };
    const vm = this.#options.vm.as(userId);
    const make = (place: DiscordPlace) => vm.branch(parent.threadId, place, request);
    const opening = ({ engine }: Thread) => branchText(asked, engine);
    return this.#begin({ channelId, title, userId, make, opening }, onWait);
  }

  /**
   * An agent that has ended goes on in the same Discord thread: a new one that knows what it knew.
   * @throws AppError
   */
  async goOnHere(
    ended: ThreadInDiscord,
    {
      text,
      isPlain,
      userId,
      messageId,
    }: { text: string; isPlain: boolean; userId: string; messageId: DiscordId },
  ): Promise<void> {
    const { vm, threads } = this.#options;
    const { threadId, ownId, type, dir, title } = ended;
    threads.setBusy(threadId, true);
    try {
      await threads.drop(threadId);
      const agent = { originThreadId: ownId };
      const first = { command: text, ...(isPlain && { plain: true }), inputId: messageId };
      const place = { threadId, channelId: channelIdOf(ended) };
      const handle = await vm.as(userId).create(place, { type, dir, ...first, title, agent }, ownId);
      const { delivery } = threads.add(await handle.get(), []);
      delivery.noteSeen(messageId, true);
    } finally {
      threads.setBusy(threadId, false);
    }
  }

  /**
   * Makes a thread of a message in a channel, whose id it gets. The same again finishes what was begun, and nothing
   * else.
   * @param onWait as of {@link create}.
   * @throws AppError as {@link create}; {@link abandon} then takes back what was begun.
   */
  async createFrom(messageId: DiscordId, asked: NewThread, onWait: (ms: number) => void): Promise<void> {
    const { vm, threads, threadMaker } = this.#options;
    const { channelId, userId } = asked;
    threads.setBusy(messageId, true);
    this.#options.attended.note(messageId);
    try {
      let thread = await this.#find(messageId);
      if (!thread) {
        const title = threadName(asked);
        const request = { inputId: messageId, ...requestOf(title, asked) };
        const own = vm.as(userId);
        await own.create(nowhereIn(channelId), { ...request, dryRun: true });
        await threadMaker.makeFrom(messageId, { channelId, name: title }, onWait);
        thread = await (await own.create({ threadId: messageId, channelId }, request)).get();
      }
      if (!isOpen(thread.status)) return; // it began, and is over already
      const opening = openingText(asked, userId, thread.engine);
      await this.#open(thread, await vm.findLedger(messageId), opening);
    } finally {
      threads.setBusy(messageId, false);
    }
    await this.#addMember(messageId, userId);
  }

  /** Nothing is left of a beginning that failed. If the VM has the thread, it stays. */
  async abandon(threadId: DiscordId): Promise<void> {
    const { api } = this.#options;
    if (!(await this.#find(threadId)) && (await api.findChannel(threadId))) {
      await this.#removeDiscordThread(threadId);
    }
  }

  async #begin(
    { channelId, title, userId, make, opening }: Beginning,
    onWait: (ms: number) => void,
  ): Promise<DiscordId> {
    const { threads, endings, threadMaker } = this.#options;
    const threadId = await threadMaker.make({ channelId, name: title }, onWait);
    threads.setBusy(threadId, true);
    this.#options.attended.note(threadId);
    let isCreated = false;
    try {
      const handle = await make({ threadId, channelId });
      isCreated = true;
      const thread = await handle.get();
      await this.#open(thread, [], opening(thread));
    } catch (error) {
      await threads.drop(threadId);
      if (isCreated) await this.#try(threadId, "end what had begun", () => endings.killQuietly(threadId));
      // Also if that failed: what runs without a Discord thread is ended at the next start.
      await this.#try(threadId, "remove its Discord thread", () => this.#removeDiscordThread(threadId));
      throw error;
    } finally {
      threads.setBusy(threadId, false);
    }
    await this.#addMember(threadId, userId);
    return threadId;
  }

  /** It waits for nothing, so its first message stands above all output. */
  async #open(thread: Thread, rows: readonly LedgerRow[], opening: string): Promise<void> {
    const { threads } = this.#options;
    const { delivery } = threads.find(thread.threadId) ?? threads.add(thread, rows);
    await delivery.say("opening", { text: opening, buttons: [] });
  }

  async #find(threadId: DiscordId): Promise<Thread | undefined> {
    try {
      return await this.#options.vm.thread(threadId).get();
    } catch (error) {
      if (error instanceof AppError && error.code === "not_found") return undefined;
      throw error;
    }
  }

  async #addMember(threadId: DiscordId, userId: string): Promise<void> {
    const { api, log } = this.#options;
    await api.addThreadMember(threadId, userId).catch((error: unknown) => {
      log.warn({ threadId, err: error }, "could not add the person to their thread");
    });
  }

  /** The person is told why the thread did not begin, not what went wrong after that. */
  async #try(threadId: DiscordId, what: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#options.log.error({ threadId, err: error }, `a thread did not begin; could not ${what}`);
    }
  }

  async #removeDiscordThread(threadId: DiscordId): Promise<void> {
    const { api, endings, log } = this.#options;
    try {
      await api.deleteChannel(threadId);
    } catch (error) {
      // Without the right to delete, closing it is the next best.
      log.warn({ threadId, err: error }, "could not remove a thread that the sidecar refused");
      const content = errorSentence(new AppError("unavailable", "This thread could not be started."));
      await api.send(threadId, { content }).catch((error: unknown) => {
        if (findRefusal(error) === undefined) throw error;
      });
      await endings.archive(threadId);
    }
  }
}

/** The place of a thread that is not made: no thread has a channel's id. */
function nowhereIn(channelId: DiscordId): DiscordPlace {
  return { threadId: channelId, channelId };
}

function requestOf(
  title: string,
  { type, dir, command, isPlain, agent, budget }: NewThread,
): Omit<CreateRequest, "threadId" | "home"> {
  return {
    type,
    dir,
    command,
    ...(isPlain && { plain: true }),
    title,
    ...(agent && { agent }),
    ...(budget && { budget }),
  };
}
