/** The kinds of threads. A new kind is made here, and nobody else needs to know. */
import type { ThreadId } from "../../shared/ids.ts";
import { KeyedQueue } from "../../shared/lifecycle.ts";
import { AgentKind } from "../agents/agent-kind.ts";
import { AgentThreads } from "../agents/agent-threads.ts";
import { Attachments } from "../agents/attachments.ts";
import { EndedThreads } from "../agents/ended-threads.ts";
import { McpFiles } from "../agents/mcp-files.ts";
import type { OnEvent } from "../agents/projection.ts";
import { Removal } from "../agents/removal.ts";
import { Runners } from "../agents/runners.ts";
import { Starter } from "../agents/starter.ts";
import { noteTitle } from "../agents/titles.ts";
import { WakeUps } from "../agents/wake-ups.ts";
import { BrowserKind } from "../browser/browser-kind.ts";
import { RoomKind } from "../rooms/room-kind.ts";
import type { Kind } from "../threads/kinds/kind.ts";
import type { Kinds } from "../threads/kinds/kinds.ts";
import { TerminalKind } from "../threads/kinds/terminal.ts";
import { Pasting } from "../threads/pasting.ts";
import { Typing } from "../threads/typing.ts";
import type { Machine } from "./machine.ts";
import type { Setting } from "./setting.ts";
import type { Storage } from "./storage.ts";

export interface WiredKinds {
  kinds: Kinds;
  /** The same as `kinds.agent`, with what only agents can. */
  agentKind: AgentKind;
  browserKind: BrowserKind;
  roomKind: RoomKind;
  agentThreads: AgentThreads;
  endedThreads: EndedThreads;
  removal: Removal;
  /** The threads' queue: what happens to one thread happens in order. */
  queue: KeyedQueue;
  runners: Runners;
  starter: Starter;
  attachments: Attachments;
  mcpFiles: McpFiles;
  /** Says who is told if an agent thread could not be brought in step. */
  listenToTrouble: (listener: () => void) => void;
  /** Says who is told each event of an agent that is stored, with what was true before it. */
  listenToEvents: (listener: OnEvent) => void;
}

/** How much of a log a pause holds at most; the rest waits in its source. */
const MAX_HELD_BYTES = 64 * 1024 * 1024;

export function createKinds(setting: Setting, storage: Storage, machine: Machine): WiredKinds {
  const { config, log, now, releasers, runner, ownPrograms } = setting;
  const { store, files, folders, logWatch, memoryWriter } = storage;
  const { threadEnv, maxAgents, maxRooms, spendLimitUsdPerDay, agent: settings } = config;
  const tellReaders = (threadId: ThreadId) => logWatch.notify(threadId);
  let onTrouble = () => {};
  const listeners: OnEvent[] = [];
  const agentThreads = new AgentThreads({
    store,
    folders,
    onChange: (threadId) => {
      tellReaders(threadId);
      starter.note(threadId);
    },
    onCaughtUp: () => onTrouble(),
    onEvent: (...news) => {
      for (const listener of listeners) listener(...news);
    },
    log,
  });
  releasers.add("agents' transcripts", () => agentThreads.close());
  const attachments = new Attachments({ ...storage, now });
  const wakeUps = new WakeUps(() => onTrouble(), now);
  releasers.add("agents' wake-ups", () => wakeUps.close());
  const mcpFiles = new McpFiles(store, folders);
  if (config.port !== 0) mcpFiles.setPlace(config);
  const { allowBypass = false } = settings;
  const parts = { store, folders, mcpFiles, agents: agentThreads, threadEnv, maxAgents, log, now };
  const rights = { allowBypass, sandbox: machine.foundSandbox.sandbox };
  const runners = new Runners({ ...parts, ...rights, ...machine, runner, spendLimitUsdPerDay });
  const endedThreads = new EndedThreads({ ...parts, runners });
  const starter = new Starter({
    ...parts,
    runners,
    wakeUps,
    onChange: tellReaders,
    onTrouble: () => onTrouble(),
  });
  const queue = new KeyedQueue();
  const removal = new Removal({ folders, queue, threadEnv, log, now });
  releasers.add("removed threads", () => removal.idle());
  releasers.add("the queue of runners", () => starter.close());
  const agentKind = new AgentKind({
    ...parts,
    files,
    worktrees: storage.worktrees,
    removal,
    attachments,
    runners,
    starter,
    ...{ settings, ownPrograms },
  });
  const listenToTrouble = (listener: () => void) => {
    onTrouble = listener;
  };
  const listenToEvents = (listener: OnEvent) => {
    listeners.push(listener);
  };
  listenToEvents((threadId, fold, event) => {
    noteTitle(store, threadId, fold, event);
    if (event.type === "permission_response") memoryWriter.finishAll(); // a person may have let a write in
  });
  const browserKind = createBrowser(setting, storage, machine);
  const roomKind = new RoomKind({ store, now, maxRooms, stateDir: folders.state });
  const others = createOthers(setting, storage, machine);
  const kinds: Kinds = { ...others, agent: agentKind, browser: browserKind, room: roomKind };
  return {
    ...{ kinds, roomKind, queue, agentKind, browserKind, agentThreads, endedThreads },
    ...{ removal, runners, starter, attachments, mcpFiles, listenToTrouble, listenToEvents },
  };
}

/** The kinds that nobody has to know by name. */
function createOthers(setting: Setting, storage: Storage, machine: Machine): Pick<Kinds, "terminal"> {
  const { guestKinds, log, now } = setting;
  const { store, files } = storage;
  const guests = Object.entries(guestKinds).map(([type, kind]): [string, Kind] => [
    type,
    kind.make({ store, files, log, now }),
  ]);
  return { ...Object.fromEntries(guests), terminal: createTerminal(setting, storage, machine) };
}

function createBrowser(
  { config, browser, log, now }: Setting,
  { store, files, browserFolders: folders }: Storage,
  { programs }: Machine,
): BrowserKind {
  const { threadEnv, browser: settings } = config;
  const isRoot = process.getuid?.() === 0;
  return new BrowserKind({ store, files, programs, threadEnv, log, now, folders, settings, browser, isRoot });
}

function createTerminal(
  { config, follower, log, now }: Setting,
  { store, files }: Storage,
  { tmux, programs, lineDisciplines }: Machine,
): TerminalKind {
  const { threadEnv, maxThreads } = config;
  const pasting = new Pasting({ files, tmux, lineDisciplines });
  const typing = new Typing({ store, tmux, pasting, lineDisciplines });
  const maxHeldBytes = Math.min(config.logMaxBytes, MAX_HELD_BYTES);
  return new TerminalKind({
    ...{ store, files, programs, typing, threadEnv, log, now },
    ...{ follower, maxHeldBytes, maxThreads },
  });
}
