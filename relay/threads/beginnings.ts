/** How threads begin: a Discord thread, a thread on the VM, and the message that says what was asked for. */
import type { CreateRequest, ThreadType } from "../../shared/api.ts";
import { AppError } from "../../shared/errors.ts";
import type { Log } from "../../shared/log.ts";
import type { DiscordApi } from "../discord/api.ts";
import { findRefusal } from "../discord/refusals.ts";
import type { ThreadMaker } from "../discord/thread-maker.ts";
import { errorSentence, openingText, threadName } from "../texts.ts";
import type { Endings } from "./endings.ts";
import type { Threads } from "./threads.ts";
import type { Vm } from "./vm.ts";

export interface BeginningsOptions {
  vm: Vm;
  threads: Threads;
  endings: Endings;
  threadMaker: ThreadMaker;
  api: DiscordApi;
  log: Log;
}

export interface NewThread {
  type: ThreadType;
  dir: string;
  command: string;
  userId: string;
  /** How an agent is to work. */
  agent?: NonNullable<CreateRequest["agent"]>;
}

export class Beginnings {
  readonly #options: BeginningsOptions;

  constructor(options: BeginningsOptions) {
    this.#options = options;
  }

  /**
   * Makes a Discord thread and a thread on the VM. If the sidecar refuses, the Discord thread is removed again.
   * @param onWait is told how long Discord makes us wait for the thread.
   * @throws AppError with the sidecar's sentence, or Discord's.
   */
  async create(asked: NewThread, onWait: (ms: number) => void): Promise<string> {
    const { vm, threads, endings, threadMaker, api, log } = this.#options;
    const { type, dir, command, userId, agent } = asked;
    const title = threadName(type, dir, command);
    const threadId = await threadMaker.make(title, onWait);
    threads.setBusy(threadId, true);
    let isCreated = false;
    try {
      const request: CreateRequest = {
        threadId,
        type,
        dir,
        command,
        title,
        createdBy: userId,
        ...(agent && { agent }),
      };
      const handle = await vm.create(request);
      isCreated = true;
      const { delivery } = threads.add(await handle.get(), []);
      // It waits for nothing, so it stands above all output.
      await delivery.say("opening", { text: openingText(type, dir, command, userId), buttons: [] });
    } catch (error) {
      await threads.drop(threadId);
      if (isCreated) await endings.killQuietly(threadId);
      await this.#removeDiscordThread(threadId);
      throw error;
    } finally {
      threads.setBusy(threadId, false);
    }
    await api.addThreadMember(threadId, userId).catch((error: unknown) => {
      log.warn({ threadId, err: error }, "could not add the person to their thread");
    });
    return threadId;
  }

  async #removeDiscordThread(threadId: string): Promise<void> {
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
