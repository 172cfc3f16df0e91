/** Ends threads on request. */
import stripAnsi from "strip-ansi";
import { isOpen, type KillReply } from "../../shared/api.ts";
import { AppError } from "../../shared/errors.ts";
import type { ThreadId } from "../../shared/ids.ts";
import { kindIn } from "../../shared/kinds.ts";
import type { KeyedQueue } from "../../shared/lifecycle.ts";
import type { Log } from "../../shared/log.ts";
import type { Principal } from "../../shared/principal.ts";
import { withAddresses } from "../../shared/terminal-link.ts";
import type { Store } from "../store/store.ts";
import type { StoredThread } from "../store/threads.ts";
import { drain } from "../streams/drain.ts";
import { readLogTail } from "../streams/log-file.ts";
import type { TmuxServer } from "../tmux/server.ts";
import { endingOf, threadEnded } from "./ending.ts";
import type { Kinds } from "./kinds/kinds.ts";
import { sessionName } from "./names.ts";
import type { Programs } from "./programs.ts";
import type { ThreadFiles } from "./thread-files.ts";
import type { Threads } from "./threads.ts";
import { unlessAway } from "./tmux-replies.ts";

const SUMMARY_LINES = 10;
const SUMMARY_HISTORY_LINES = 200;
const SUMMARY_LOG_BYTES = 16_384;
const DRAIN_TIMEOUT_MS = 3_000;

export interface KillOptions {
  store: Store;
  tmux: TmuxServer;
  files: ThreadFiles;
  threads: Threads;
  programs: Programs;
  kinds: Kinds;
  queue: KeyedQueue;
  log: Log;
  now: () => number;
}

/**
 * As {@link killThread}, with the threads that it spawned and that are still open: those end after it, and one that is
 * over by then is as well. A crash in between leaves none of them: see {@link finishKills}.
 * @param findChildren the open ones, a parent before its children
 * @param by who ends them
 */
export async function killWithChildren(
  options: KillOptions,
  threadId: ThreadId,
  findChildren: () => readonly ThreadId[],
  by: Principal,
): Promise<KillReply> {
  const { agents, threads } = options.store;
  const isThere = () => isOpen(threads.find(threadId)?.status ?? "killed");
  // It may be being made: whoever had no answer to that ends it, and would be told that there is none.
  if (!isThere()) await options.queue.run(threadId, async () => undefined);
  if (!isThere()) return killThread(options, threadId, by); // which says so
  const all = [threadId, ...findChildren()];
  agents.setEnding(all, true);
  let reply: KillReply;
  try {
    reply = await killThread(options, threadId, by);
  } catch (error) {
    if (isThere()) agents.setEnding(all, false); // the caller is told that nothing ends
    throw error;
  }
  // It may have spawned more until its end.
  const children = findChildren();
  agents.setEnding(children, true);
  for (const childId of children) await finishKill(options, childId, by);
  return reply;
}

/** At a start: kills those that an earlier sidecar, killed itself, left of what was to end together. */
export async function finishKills(options: KillOptions): Promise<void> {
  for (const threadId of options.store.agents.listEnding()) await finishKill(options, threadId);
}

async function finishKill(options: KillOptions, threadId: ThreadId, by?: Principal): Promise<void> {
  await killThread(options, threadId, by).catch((error: unknown) => {
    const isOver = error instanceof AppError && ["thread_ended", "not_found"].includes(error.code);
    if (!isOver)
      options.log.error({ threadId, err: error }, "could not end a thread; the next start tries again");
  });
}

/**
 * Ends the whole process tree and then the thread. Works while tmux is away too: the session is ended when it is back.
 * @param by who ends it; nobody knows if an earlier sidecar was told
 * @throws AppError `not_found`, `thread_ended`
 */
export async function killThread(
  options: KillOptions,
  threadId: ThreadId,
  by?: Principal,
): Promise<KillReply> {
  const { queue, store, tmux, files, threads, programs, kinds, log, now } = options;
  threads.getStored(threadId);
  return queue.run(threadId, async () => {
    const thread = threads.getStored(threadId);
    const kind = kindIn(kinds, thread.type);
    if (!isOpen(thread.status)) throw threadEnded(threadId, kind.whyNoInput(thread.status));
    const survivors = await programs.endTree(thread);
    // The session's end would drop what tmux has not handed to the log yet. A thread may have no session.
    if (thread.paneId !== "")
      await unlessAway(drain({ tmux, logs: files.logs }, threadId, { timeoutMs: DRAIN_TIMEOUT_MS }));
    const summary = await summarize(options, thread);
    const ending =
      thread.status === "running"
        ? endingOf(kind.findEnd(thread), undefined, now())
        : { exitCode: thread.exitCode, signal: thread.signal, endedAt: thread.endedAt ?? now() };
    await unlessAway(tmux.killSession(sessionName(threadId)));
    store.threads.update(threadId, { status: "killed", ...ending });
    await kind.takeKill(thread, by);
    log.info({ threadId, survivors }, "thread killed");
    return { killed: true, summary, exitCode: ending.exitCode, survivors };
  });
}

/** The last lines as tmux shows them; if tmux can't be asked, or has no such pane, from the log without its escape sequences. */
async function summarize({ tmux, files }: KillOptions, thread: StoredThread): Promise<string> {
  const { paneId } = thread;
  const shown =
    paneId === "" ? undefined : await unlessAway(tmux.screens.captureText(paneId, SUMMARY_HISTORY_LINES));
  const text =
    shown ??
    stripAnsi(readLogTail(files.logs.path(thread.threadId), SUMMARY_LOG_BYTES)).replace(
      /(?<!\r)\r+\n/g,
      "\n",
    );
  const lines = text.trimEnd().split("\n").slice(-SUMMARY_LINES);
  return withAddresses(lines, files.findLinks(thread.threadId)).join("\n");
}
