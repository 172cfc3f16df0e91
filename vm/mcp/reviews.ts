/**
 * Gates that a directive decides at. The runner says in its transcript that it waits; here a reviewer is made, a child of
 * that thread, and its result goes into the thread's inbox as the decision. Whatever is killed in between, the request
 * has one reviewer, whose id is made of it, and the first decision counts.
 */
import { createHash } from "node:crypto";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { callKeyOf } from "../../shared/agent/call-key.ts";
import type { ThreadEvent } from "../../shared/agent/events.ts";
import type { GateEntry, ThreadFold } from "../../shared/agent/fold-types.ts";
import {
  MAX_REVIEW_CHARACTERS,
  REVIEW_THREAD,
  type ReviewFile,
  reviewFileName,
  reviewFileSchema,
  reviewPrompt,
  reviewResultSchema,
} from "../../shared/agent/gate-review.ts";
import { DECIDER_USD, type GateOutcome } from "../../shared/agent/gates.ts";
import { threadPath } from "../../shared/agent/paths.ts";
import { isOpen } from "../../shared/api.ts";
import { AppError } from "../../shared/errors.ts";
import { knownThreadId, type ThreadId } from "../../shared/ids.ts";
import type { KeyedQueue } from "../../shared/lifecycle.ts";
import type { Log } from "../../shared/log.ts";
import { job, type Principal, printPrincipal, threadPrincipal } from "../../shared/principal.ts";
import type { AgentKind } from "../agents/agent-kind.ts";
import type { Agents } from "../agents/agents.ts";
import type { AgentFolders } from "../agents/folders.ts";
import type { Marks } from "../agents/marks.ts";
import { readOwnFile } from "../agents/own-file.ts";
import { saidIn } from "../agents/said.ts";
import type { Store } from "../store/store.ts";
import type { LogWatch } from "../streams/log-watch.ts";
import type { Threads } from "../threads/threads.ts";
import { isSettled } from "./child-tools.ts";
import type { Children } from "./children.ts";

/** What can't be done now is tried again so long after, until the gate's time is over. */
const AGAIN_MS = 2_000;
const LOOK_MS = 10_000;
const TRANSIENT: readonly string[] = ["unavailable", "max_threads", "too_many_agents", "rate_limited"];
/** A file of more is not read; the bytes of what is shown to a reviewer, in JSON's longest form. */
const MAX_FILE_BYTES = 4 * 1024 * 1024;

export interface ReviewsOptions {
  store: Store;
  folders: AgentFolders;
  threads: Threads;
  agents: Agents;
  children: Children;
  marks: Pick<Marks, "spread">;
  logWatch: LogWatch;
  agentKind: Pick<AgentKind, "append">;
  queue: KeyedQueue;
  now: () => number;
  kill: (threadId: ThreadId, by: Principal) => Promise<unknown>;
  log: Log;
}

interface Decision {
  outcome: GateOutcome;
  text: string | undefined;
}

interface Review {
  threadId: ThreadId;
  childId: ThreadId;
  entry: Pick<GateEntry, "requestId" | "callKey" | "title">;
  signal: AbortSignal;
}

export class Reviews {
  readonly #options: ReviewsOptions;
  /** By the reviewer's id: ends its work if nobody waits for the decision any more. */
  readonly #running = new Map<
    ThreadId,
    { threadId: ThreadId; cancel: AbortController; done: Promise<void> }
  >();
  #isClosed = false;

  constructor(options: ReviewsOptions) {
    this.#options = options;
  }

  /** Takes up what an earlier sidecar was killed in the middle of. */
  async start(): Promise<void> {
    const { store, children, kill, log } = this.#options;
    const waiting = store.agents
      .list()
      .filter(({ status, fold }) => status !== "killed" && openOf(fold).length > 0);
    for (const { threadId } of waiting) await this.#look(threadId);
    for (const { threadId } of store.threads.list("open")) {
      if (!threadId.startsWith(REVIEW_THREAD) || this.#running.has(threadId)) continue;
      if (children.parentOf(threadId) === undefined) continue; // somebody has named a thread of theirs so
      log.warn({ threadId }, "ending a reviewer whose decision nobody waits for");
      await kill(threadId, job("gate"));
    }
  }

  /** An event of a thread was stored. @param fold as it was before */
  note(threadId: ThreadId, { gates }: Pick<ThreadFold, "gates">, event: ThreadEvent): void {
    if (!gates || this.#isClosed) return;
    const isAsked = event.type === "gate_request" && event.by === "directive";
    const mayEnd = [...this.#running.values()].some((one) => one.threadId === threadId);
    if (!isAsked && !mayEnd) return;
    // The fold is stored with the last event of those that are read together.
    setImmediate(() => {
      this.#look(threadId).catch((error: unknown) => {
        this.#options.log.error({ threadId, err: error }, "could not look at a thread's gates");
      });
    });
  }

  /** Reviewers go on; the next sidecar hears what they decide. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const { cancel } of this.#running.values()) cancel.abort();
    await Promise.all([...this.#running.values()].map(({ done }) => done));
  }

  async #look(threadId: ThreadId): Promise<void> {
    const { agents, threads } = this.#options;
    const isThere = isOpen(threads.getStored(threadId).status);
    const open = isThere ? openOf(await agents.foldNow(threadId)) : [];
    if (this.#isClosed) return;
    const wanted = new Map(open.map((entry) => [reviewerOf(threadId, entry.requestId), entry]));
    for (const [childId, { threadId: of, cancel }] of this.#running)
      if (of === threadId && !wanted.has(childId)) cancel.abort();
    for (const [childId, entry] of wanted) {
      if (this.#running.has(childId)) continue;
      const cancel = new AbortController();
      const done = this.#run({ threadId, childId, entry, signal: cancel.signal }).finally(() => {
        this.#running.delete(childId);
      });
      this.#running.set(childId, { threadId, cancel, done });
    }
  }

  /** Never rejects. */
  async #run(review: Review): Promise<void> {
    const { log, folders, logWatch } = this.#options;
    const { threadId, childId, entry, signal } = review;
    while (!signal.aborted) {
      try {
        const decision = await this.#decide(review);
        if (decision) await this.#say(review, decision);
        break;
      } catch (error) {
        const isOver = error instanceof AppError && error.code === "thread_ended";
        if (isOver) break;
        log.error({ threadId, childId, err: error }, "could not have a gate decided; trying again");
        await delay(AGAIN_MS, undefined, { signal }).catch(() => undefined); // it is wanted no more
      }
    }
    // The sidecar ends, and its reviewers go on.
    if (this.#isClosed || logWatch.isClosed) return;
    rmSync(join(threadPath(folders.of(threadId), "reviews"), reviewFileName(entry.requestId)), {
      force: true,
    });
    await this.#end(childId);
  }

  /** @returns undefined if nobody waits for it any more */
  async #decide(review: Review): Promise<Decision | undefined> {
    try {
      const file = this.#read(review);
      await this.#make(review, file);
      return await this.#wait(review, file);
    } catch (error) {
      if (!(error instanceof AppError) || TRANSIENT.includes(error.code) || error.code === "thread_ended")
        throw error;
      return { outcome: "fail", text: `No directive could decide: ${error.message}` };
    }
  }

  /** @throws AppError `too_large`, `invalid_request` if the file does not hold what waits, whole */
  #read({ threadId, entry }: Review): ReviewFile {
    const { requestId, callKey } = entry;
    const folder = threadPath(this.#options.folders.of(threadId), "reviews");
    let file: ReviewFile;
    try {
      const found = readOwnFile(join(folder, reviewFileName(requestId)), MAX_FILE_BYTES);
      file = reviewFileSchema().parse(JSON.parse(found?.text ?? ""));
    } catch {
      throw new AppError("invalid_request", "what waits at the gate can't be read.");
    }
    const isSame =
      file.requestId === requestId && file.hash === callKey && callKeyOf(file.tool, file.input) === callKey;
    if (!isSame) throw new AppError("invalid_request", "what waits at the gate is not what was asked about.");
    const { length } = JSON.stringify(file.input) ?? "";
    if (length > MAX_REVIEW_CHARACTERS)
      throw new AppError(
        "too_large",
        `what waits at the gate has ${length} characters; a reviewer is shown ${MAX_REVIEW_CHARACTERS} at most.`,
      );
    return file;
  }

  async #make({ threadId, childId, entry, signal }: Review, file: ReviewFile): Promise<void> {
    if (signal.aborted) return;
    const { directive, timeoutSeconds } = file;
    await this.#options.children.review(threadId, {
      ...{ threadId: childId, directive, prompt: reviewPrompt(file) },
      title: `Review: ${entry.title}`.slice(0, 100),
      limits: { spendUsd: DECIDER_USD, seconds: Math.ceil(timeoutSeconds) },
    });
  }

  async #wait(
    { threadId, childId, signal }: Review,
    { directive }: ReviewFile,
  ): Promise<Decision | undefined> {
    const { threads, agents, marks, logWatch } = this.#options;
    const changes = logWatch.listen([childId]);
    try {
      while (!signal.aborted && !logWatch.isClosed) {
        const child = threads.get(childId);
        if (await isSettled(child, agents)) {
          const { end } = await saidIn(agents, childId);
          await marks.spread(childId, threadId); // text from outside may have come meanwhile
          const { data } = reviewResultSchema().safeParse(end?.output === "valid" ? end.result : undefined);
          if (data) return { outcome: data.decision, text: data.text };
          const why = end?.error ?? (end ? `its turn ended with ${end.stopReason}` : `it is ${child.status}`);
          return { outcome: "fail", text: `The directive ${directive} gave no decision: ${why}` };
        }
        await changes.wait(LOOK_MS, signal);
      }
      return undefined;
    } finally {
      changes.end();
    }
  }

  /** @throws AppError `thread_ended` */
  async #say({ threadId, childId, entry }: Review, { outcome, text = "" }: Decision): Promise<void> {
    const { queue, agentKind, threads, now } = this.#options;
    const { requestId, callKey } = entry;
    const [ts, by] = [new Date(now()).toISOString(), printPrincipal(threadPrincipal(childId))];
    await queue.run(threadId, async () => {
      const thread = threads.getStored(threadId);
      if (!isOpen(thread.status)) return;
      const decided = { ts, op: "decide" as const, requestId, callKey, outcome, by };
      await agentKind.append(thread, [{ ...decided, ...(text !== "" && { text }) }]);
    });
  }

  async #end(childId: ThreadId): Promise<void> {
    const { store, kill, log } = this.#options;
    const child = store.threads.find(childId);
    if (!child || !isOpen(child.status)) return;
    await kill(childId, job("gate")).catch((error: unknown) => {
      log.error({ threadId: childId, err: error }, "could not end a reviewer; the next start does");
    });
  }
}

function openOf({ gates }: Pick<ThreadFold, "gates">): GateEntry[] {
  return (gates?.entries ?? []).filter(({ by, outcome }) => by === "directive" && outcome === undefined);
}

function reviewerOf(threadId: ThreadId, requestId: string): ThreadId {
  const hash = createHash("sha256").update(`${threadId} ${requestId}`).digest("hex");
  return knownThreadId.parse(`${REVIEW_THREAD}${hash.slice(0, 24)}`);
}
