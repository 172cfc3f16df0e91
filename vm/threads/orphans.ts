/**
 * Sessions that the database does not know although they have a log: it was lost, or an older one was put back. What
 * runs in them is somebody's work, so a person says what becomes of it.
 */
import { existsSync, readlinkSync } from "node:fs";
import { relative } from "node:path";
import type { Log } from "../../shared/log.ts";
import { job } from "../../shared/principal.ts";
import { USER_SPACE } from "../../shared/user-space.ts";
import type { Store } from "../store/store.ts";
import { sizeOfLog } from "../streams/log-file.ts";
import type { Pane } from "../tmux/pane.ts";
import type { TmuxServer } from "../tmux/server.ts";
import type { Budgets } from "./budgets.ts";
import { isInside } from "./directory.ts";
import { findMarker, newMarker, threadIdOf } from "./names.ts";
import type { ThreadFiles } from "./thread-files.ts";
import type { UserSpace } from "./user-space.ts";

/** `refuse`: the sidecar does not start. `adopt`: they become terminals. `discard`: they end, their logs go. */
export type OrphanPolicy = "refuse" | "adopt" | "discard";

const NAMED = 5;

export interface OrphansOptions {
  policy: OrphanPolicy;
  store: Store;
  tmux: TmuxServer;
  files: ThreadFiles;
  budgets: Budgets;
  /** A real path. */
  reposDir: string;
  userSpace: UserSpace;
  log: Log;
  now: () => number;
}

export class Orphans {
  readonly #options: OrphansOptions;
  #leftAlone: ReadonlySet<string> | undefined;

  constructor(options: OrphansOptions) {
    this.#options = options;
  }

  /**
   * Does what was chosen. Only the first call does anything: what has no row later was made by this very sidecar.
   * @param unknown sessions that no open thread has.
   * @param end ends one, with its processes.
   */
  async settle(unknown: readonly Pane[], end: (pane: Pane) => Promise<void>): Promise<void> {
    if (this.#leftAlone) return;
    const { policy, store, files, log } = this.#options;
    const orphans = unknown.filter(({ session }) => {
      const threadId = threadIdOf(session);
      // Without a log it is no more than what a creation that failed has left.
      return !store.threads.find(threadId) && existsSync(files.logs.path(threadId));
    });
    const sessions = orphans.map(({ session }) => session);
    if (orphans.length > 0) log.error({ policy, sessions }, "sessions that the database does not know");
    for (const pane of orphans) {
      if (policy === "adopt") await this.#adopt(pane);
      if (policy !== "discard") continue;
      await end(pane);
      files.remove(threadIdOf(pane.session));
    }
    this.#leftAlone = new Set(policy === "refuse" ? sessions : []);
  }

  isLeftAlone({ session }: Pane): boolean {
    return this.#leftAlone?.has(session) ?? false;
  }

  /** @throws Error if there are any that a person has to decide on. */
  refuse(): void {
    const sessions = [...(this.#leftAlone ?? [])];
    if (sessions.length > 0) throw new Error(describeOrphans(sessions));
  }

  /** As a person names it. */
  #dirOf(path: string): string {
    const { reposDir, userSpace } = this.#options;
    if (userSpace.holds(path)) return USER_SPACE;
    return isInside(reposDir, path) ? relative(reposDir, path) || "." : ".";
  }

  /** Makes a terminal of a session; what its process cannot tell, nobody knows any more. */
  async #adopt(pane: Pane): Promise<void> {
    const { store, tmux, files, budgets, reposDir, now } = this.#options;
    const threadId = threadIdOf(pane.session);
    const { paneId, pid, tty } = pane;
    const path = pane.isDead ? reposDir : (findWorkingDirectory(pid) ?? reposDir);
    const { end, diskBytes } = sizeOfLog(files.logs.path(threadId));
    const size = await tmux.findSize(paneId);
    if (!pane.isDead) files.removeRunEnds(threadId); // of an agent's earlier turns
    const follows = files.findFollow(threadId);
    const program = follows ? `logs ${follows.service}` : files.findProgram(threadId);
    const marker = findMarker(pid) ?? newMarker();
    store.transaction(() => {
      store.threads.insert({
        threadId,
        type: "terminal",
        dir: this.#dirOf(path),
        path,
        command: program ?? "(unknown)",
        ...(follows && { follows }),
        title: "", // lost too; the relay tells the Discord thread's name again
        createdBy: job("adopt"),
        createdAt: now(),
        ...size,
        marker,
      });
      // Only the head of a log is ever given back: what is missing on the disk is missing there.
      const firstOffset = Math.max(0, end - diskBytes);
      budgets.adopt(threadId, marker);
      store.threads.update(threadId, { paneId, panePid: pid, tty, isMade: true, firstOffset });
    });
  }
}

/** @returns why the sidecar does not start, and how to go on. */
function describeOrphans(sessions: readonly string[]): string {
  const ids = sessions.map(threadIdOf);
  const more = ids.length > NAMED ? ` and ${ids.length - NAMED} more` : "";
  const which = `${ids.slice(0, NAMED).join(", ")}${more}`;
  const [runs, them] =
    ids.length === 1 ? ["thread runs", "it as a terminal"] : ["threads run", "them as terminals"];
  return (
    `${ids.length} ${runs} in tmux that the database does not know (${which}): it was lost, or is an older one. ` +
    `Nothing was ended. Put the right threadmux.db back, or start once with --adopt to go on with ${them}, or with ` +
    `--discard to end ${ids.length === 1 ? "it" : "them"} and remove the log${ids.length === 1 ? "" : "s"}.`
  );
}

function findWorkingDirectory(pid: number): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return undefined; // gone meanwhile
  }
}
