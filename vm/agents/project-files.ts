/**
 * Agents' threads as files of their directories (`PROJECT_FILES=1`), for `tail -f` and scripts:
 * `<dir>/.ai/threads/<name>/`, and `~/.ai/threads/<name>/` for user space. Nothing of ours reads them, since an agent could
 * write there what it likes.
 */
import { existsSync, readdirSync, realpathSync, statSync } from "node:fs";
import { join } from "node:path";
import type { ThreadConfig } from "../../shared/agent/config.ts";
import { threadPath } from "../../shared/agent/paths.ts";
import { isOpen } from "../../shared/api.ts";
import { errorText } from "../../shared/errors.ts";
import type { ThreadId } from "../../shared/ids.ts";
import type { Log } from "../../shared/log.ts";
import { writeWhole } from "../../shared/whole-file.ts";
import type { AgentRow } from "../store/agents.ts";
import type { Store } from "../store/store.ts";
import type { StoredThread } from "../store/threads.ts";
import type { UserSpace } from "../threads/user-space.ts";
import type { AgentKind } from "./agent-kind.ts";
import type { AgentFolders } from "./folders.ts";
import { excludeFromGit } from "./git-exclude.ts";
import { readOwnFile } from "./own-file.ts";
import { copyGrown } from "./project-copy.ts";
import { findNote, noteFile, PLACE, type ProjectNote } from "./project-note.ts";
import { ProjectionFolder } from "./projection-folder.ts";

const LOOK_INTERVAL_MS = 1_000;
/** In one look, of all threads: others are served meanwhile. */
const MAX_LOOK_BYTES = 4 * 1024 * 1024;
const MAX_ASKS = 100;
const MAX_ASK_BYTES = 1024 * 1024;
const REQUEST = ".request.json";
/** One line for all threads of a repository, in whichever of its folders they work. */
const EXCLUDED = `${PLACE.join("/")}/`;

export interface ProjectFilesOptions {
  store: Store;
  folders: AgentFolders;
  agentKind: Pick<AgentKind, "describeAgent">;
  userSpace: Pick<UserSpace, "holds">;
  /** The environment of programs in threads: it names the person's home. */
  threadEnv: Record<string, string>;
  log: Log;
}

export class ProjectFiles {
  readonly #options: ProjectFilesOptions;
  /** The state of each thread that was written, or could not be; by thread. */
  readonly #done = new Map<ThreadId, string>();
  #isFirst = true;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: ProjectFilesOptions) {
    this.#options = options;
  }

  start(): void {
    const look = () => {
      try {
        this.#look();
      } catch (error) {
        this.#options.log.error({ err: error }, "could not look at threads' files in projects; trying again");
      }
    };
    this.#timer = setInterval(look, LOOK_INTERVAL_MS).unref();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    const { store, folders, log } = this.#options;
    const rows = this.#rows();
    let left = MAX_LOOK_BYTES;
    for (const thread of rows) {
      const { threadId } = thread;
      if (left <= 0) {
        this.#isFirst ||= !this.#done.has(threadId);
        continue;
      }
      const agent = store.agents.find(threadId);
      if (!agent || !thread.isMade || !folders.exists(threadId)) continue;
      const state = this.#stateOf(thread, agent);
      if (this.#done.get(threadId) === state) continue;
      try {
        const { isWhole, bytes } = this.#project(thread, agent, state);
        left -= bytes;
        if (isWhole) this.#done.set(threadId, state);
      } catch (error) {
        this.#done.set(threadId, state);
        log.warn({ threadId, why: errorText(error) }, "a thread's files in the project could not be written");
      }
    }
  }

  /** At first all, also those that ended while nobody wrote; then those that may have changed. */
  #rows(): StoredThread[] {
    const { threads } = this.#options.store;
    if (this.#isFirst) {
      this.#isFirst = false;
      return threads.list("all");
    }
    const open = threads.list("open");
    const ids = new Set(open.map(({ threadId }) => threadId));
    const ended: StoredThread[] = [];
    for (const [threadId, state] of this.#done) {
      if (ids.has(threadId)) continue;
      const thread = threads.find(threadId);
      if (!thread) this.#done.delete(threadId);
      else if (!isOver(state)) ended.push(thread);
    }
    return [...open, ...ended];
  }

  /** Differs once there is something to write. */
  #stateOf({ threadId, status }: StoredThread, agent: AgentRow): string {
    const { folders, agentKind } = this.#options;
    const folder = folders.of(threadId);
    const markdown = statSync(threadPath(folder, "markdown"), { throwIfNoEntry: false })?.size ?? 0;
    const now = agentKind.describeAgent(agent).status;
    const asks = listAsks(folder).join(" ");
    // A thread that is being killed has still something to write down.
    const isDone = !isOpen(status) && agent.status === "killed";
    return `${isDone ? "over" : "open"} ${now} ${agent.awaiting} ${agent.transcriptBytes} ${markdown} ${asks}`;
  }

  #project(thread: StoredThread, agent: AgentRow, state: string): { isWhole: boolean; bytes: number } {
    const { folders, userSpace, threadEnv } = this.#options;
    const { threadId } = thread;
    const folder = folders.of(threadId);
    const before = findNote(folder);
    if (before?.state === state) return { isWhole: true, bytes: 0 };
    const config = folders.findConfig(threadId);
    if (!config) return { isWhole: true, bytes: 0 };
    // git makes a worktree in an empty folder alone.
    if (config.worktree && !existsSync(join(config.worktree.path, ".git")))
      return { isWhole: true, bytes: 0 };
    const base = userSpace.holds(config.dir) ? realpathSync(threadEnv["HOME"] ?? "/") : config.dir;
    if (!excludeFromGit(userSpace.holds(config.dir) ? base : (config.worktree?.root ?? base), EXCLUDED))
      throw new Error("the repository's own folder is elsewhere, so git can't be told to leave them out");
    const name = thread.name === "" ? threadId : thread.name;
    return ProjectionFolder.use(base, [...PLACE, name], true, (place) => {
      const made = folders.makingOf(threadId);
      const was = before?.base === base && before.name === name ? before : undefined;
      const events = copyGrown(place, "transcript.jsonl", {
        source: threadPath(folder, "transcript"),
        end: agent.transcriptBytes,
        before: was?.events,
        change: (line) => withMaking(line, made),
      });
      const markdown = copyGrown(place, "transcript.md", {
        source: threadPath(folder, "markdown"),
        before: was?.markdown,
      });
      const asks = this.#copyAsks(place, { base, name, folder, before: was?.asks ?? [] });
      const { status } = this.#options.agentKind.describeAgent(agent);
      place.write("thread.json", json(threadOf(config, agent, status)));
      place.write("state.json", json(stateOf(config, agent)));
      const isWhole = events.isWhole && markdown.isWhole;
      const note: ProjectNote = {
        ...{ v: 1, base, name, asks, events: events.now, markdown: markdown.now },
        state: isWhole ? state : "",
      };
      writeWhole(noteFile(folder), json(note));
      return { isWhole, bytes: events.bytes + markdown.bytes };
    });
  }

  /** @returns the names of what lies there now */
  #copyAsks(
    place: ProjectionFolder,
    { base, name, folder, before }: { base: string; name: string; folder: string; before: readonly string[] },
  ): string[] {
    const asks = listAsks(folder);
    if (asks.length > 0 || before.length > 0)
      ProjectionFolder.use(base, [...PLACE, name, "approvals"], true, (approvals) => {
        for (const ask of asks) {
          const file = readOwnFile(join(threadPath(folder, "approvals"), ask), MAX_ASK_BYTES);
          if (file && !before.includes(ask)) approvals.write(ask, file.text);
        }
        for (const ask of before) if (!asks.includes(ask)) approvals.remove(ask);
      });
    if (asks.length === 0) place.removeFolder("approvals");
    return asks;
  }
}

function listAsks(folder: string): string[] {
  try {
    const names = readdirSync(threadPath(folder, "approvals"));
    return names
      .filter((name) => name.endsWith(REQUEST))
      .sort()
      .slice(0, MAX_ASKS);
  } catch {
    return []; // nothing is asked
  }
}

/** A thread that is over changes no more. */
const isOver = (state: string) => state.startsWith("over ");

const json = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`;

/** As in `GET /events`. */
function withMaking(
  line: string,
  making: { directive?: string | undefined; origin?: object | undefined },
): string {
  const members = Object.entries(making).filter(
    ([name, value]) => (name === "directive" || name === "origin") && value !== undefined,
  );
  if (members.length === 0 || !line.startsWith("{")) return line;
  return `${JSON.stringify(Object.fromEntries(members)).slice(0, -1)},${line.slice(1)}`;
}

function threadOf({ threadId, agent }: ThreadConfig, { fold, awaiting }: AgentRow, status: string) {
  return {
    thread_id: threadId,
    thread_mode: agent.mode,
    status,
    awaiting,
    turn_count: fold.turnCount,
    cost: fold.totals.spendUsd,
    directive: agent.directive?.name ?? null,
    provider: agent.engine,
  };
}

function stateOf({ agent }: ThreadConfig, { fold }: AgentRow) {
  return {
    directive: agent.directive?.name ?? null,
    inputs: agent.directive?.inputs ?? {},
    cost: fold.totals.spendUsd,
    limits: agent.limits,
    hooks: agent.gates ?? [],
    required_caps: agent.needs,
  };
}
