/** Lets the agent of a channel go on in another directory: the same thread, with all that aims at it. */
import { isOpen } from "../../shared/api.ts";
import { AppError } from "../../shared/errors.ts";
import type { DiscordId, ThreadId } from "../../shared/ids.ts";
import type { KeyedQueue } from "../../shared/lifecycle.ts";
import type { Log } from "../../shared/log.ts";
import { type Principal, printPrincipal } from "../../shared/principal.ts";
import type { HandOverReply } from "../../shared/voice-api.ts";
import type { People } from "../callers/people.ts";
import type { HandOver } from "../store/spoken.ts";
import type { Store } from "../store/store.ts";
import type { StoredThread } from "../store/threads.ts";
import { resolveDirectory } from "../threads/directory.ts";
import type { ThreadFiles } from "../threads/thread-files.ts";
import type { AgentThreads } from "./agent-threads.ts";
import type { AgentFolders } from "./folders.ts";
import { channelsOfAgent, heardChannel } from "./heard-channels.ts";
import { endedMain, type MainAgents } from "./main-agents.ts";
import type { Runners } from "./runners.ts";
import type { Starter } from "./starter.ts";

export interface HandOversOptions {
  store: Store;
  folders: AgentFolders;
  files: Pick<ThreadFiles, "isShownIn">;
  agentThreads: AgentThreads;
  runners: Pick<Runners, "endAll" | "endSession">;
  starter: Pick<Starter, "note" | "startIfNeeded">;
  queue: KeyedQueue;
  people: Pick<People, "judge">;
  mainAgents: Pick<MainAgents, "prompt">;
  /** A real path. */
  reposDir: string;
  log: Log;
  now: () => number;
}

export class HandOvers {
  readonly #options: HandOversOptions;

  constructor(options: HandOversOptions) {
    this.#options = options;
  }

  /**
   * Ends the agent's processes, and begins the next ones in another directory with what the transcript holds. A turn that
   * runs is cut off, and what it was given is given again there. Messages that come meanwhile wait.
   * @param by must be one who may change the settings of each channel that the agent hears
   * @throws AppError `not_found`, `unsupported`, `thread_ended`, `invalid_directory`, `invalid_request`, `forbidden`
   */
  async handOver(channelId: DiscordId, wanted: string, by: Principal): Promise<HandOverReply> {
    const { store, people, queue, log, now } = this.#options;
    const { name } = heardChannel(store, channelId);
    for (const { id } of channelsOfAgent(store, name)) people.judge(by, "settings", id);
    const threadId = store.spoken.findMain(name);
    if (threadId === undefined || !store.threads.find(threadId)?.isMade)
      throw new AppError(
        "not_found",
        `Nobody has written to the agent ${name} yet, so there is nothing to hand over; it will begin in the channel's directory, which \`/here dir:\` sets.`,
      );
    return queue.run(threadId, async () => {
      const thread = this.#getOpen(threadId, name);
      const { dir, path } = await this.#placeFor(thread, name, wanted);
      const handOver = { dir, path, at: now() };
      const systemPrompt = this.#options.mainAgents.prompt();
      store.spoken.noteHandOver(threadId, handOver);
      log.info({ threadId, from: thread.dir, dir, by: printPrincipal(by) }, "handing an agent over");
      await this.#complete(threadId, handOver, systemPrompt);
      return { name, threadId, from: thread.dir, dir };
    });
  }

  /** Completes at a start what an earlier sidecar was killed in the middle of. */
  async recover(): Promise<void> {
    const { store, queue, log, mainAgents } = this.#options;
    for (const { threadId, handOver } of store.spoken.listHandOvers()) {
      log.warn({ threadId, dir: handOver.dir }, "completing a hand-over that was cut off");
      await queue
        .run(threadId, async () => this.#complete(threadId, handOver, mainAgents.prompt()))
        .catch((error: unknown) =>
          log.error({ threadId, err: error }, "could not complete a hand-over; the next start tries again"),
        );
    }
  }

  #getOpen(threadId: ThreadId, name: string): StoredThread {
    const { store } = this.#options;
    const thread = store.threads.find(threadId);
    if (!thread || !isOpen(thread.status) || !store.spoken.isMain(threadId)) throw endedMain(name);
    return thread;
  }

  async #placeFor(
    thread: StoredThread,
    name: string,
    wanted: string,
  ): Promise<{ dir: string; path: string }> {
    const { reposDir, files } = this.#options;
    const place = await resolveDirectory(reposDir, wanted);
    if (files.isShownIn(place.path))
      throw new AppError("invalid_directory", `dir: ${JSON.stringify(wanted)} is the sidecar's own folder.`);
    if (place.path !== thread.path) return place;
    throw new AppError(
      "unsupported",
      `dir: the agent ${name} works in ${JSON.stringify(place.dir)} already.`,
    );
  }

  /** The caller holds the thread's queue. Done again after a kill, it comes to the same. */
  async #complete(threadId: ThreadId, { dir, path, at }: HandOver, systemPrompt: string): Promise<void> {
    const { store, folders, agentThreads, runners, starter } = this.#options;
    await runners.endAll(threadId);
    await runners.endSession(threadId);
    await agentThreads.unwatch(threadId);
    const thread = store.threads.find(threadId);
    if (!thread || !isOpen(thread.status)) return;
    if (thread.status === "running") store.threads.update(threadId, { status: "idle" });
    const config = folders.findConfig(threadId);
    if (!config) throw new Error(`the configuration of ${threadId} can't be read`);
    if (config.dir !== path) {
      this.#tell(threadId, thread.dir, dir, at);
      const sessionId = agentThreads.get(threadId).fold.engine?.sessionId;
      const handedOver = {
        from: config.dir,
        at: new Date(at).toISOString(),
        ...(sessionId && { sessionId }),
      };
      folders.handOver(config, { dir: path, systemPrompt, handedOver });
    }
    store.threads.update(threadId, { dir, path });
    starter.note(threadId);
    await starter.startIfNeeded(threadId);
  }

  /** People see it in the agent's own thread. */
  #tell(threadId: ThreadId, from: string, dir: string, at: number): void {
    const title = `It goes on in ${dir}`;
    const agent = this.#options.agentThreads.get(threadId);
    if (agent.hasUnreadNotice(title)) return;
    const description = `Before, it worked in ${from}. The commands that it ran there were ended.`;
    const event = { type: "notice", severity: "info", title, description } as const;
    agent.append([{ ts: new Date(at).toISOString(), op: "event", event }]);
  }
}
