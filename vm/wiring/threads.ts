/** The threads: what callers do with them, and what looks after them. */

import { DEFAULT_ENGINE } from "../../shared/agent/engines/engines.ts";
import type { ThreadFold } from "../../shared/agent/fold-types.ts";
import type { KillReply } from "../../shared/api.ts";
import type { ThreadId } from "../../shared/ids.ts";
import type { KillRequest } from "../../shared/kill-api.ts";
import type { Principal } from "../../shared/principal.ts";
import { Agents } from "../agents/agents.ts";
import type { Attachments } from "../agents/attachments.ts";
import { Branches } from "../agents/branches.ts";
import { Channels } from "../agents/channels.ts";
import { Conversations } from "../agents/conversations.ts";
import { HandOvers } from "../agents/hand-over.ts";
import { MainAgents } from "../agents/main-agents.ts";
import { MainStatuses } from "../agents/main-status.ts";
import { Marks } from "../agents/marks.ts";
import type { McpFiles } from "../agents/mcp-files.ts";
import { Merges } from "../agents/merges.ts";
import { Spoken } from "../agents/spoken.ts";
import { ThreadDetails } from "../agents/thread-details.ts";
import { Browsers } from "../browser/browsers.ts";
import { peopleOf } from "../callers/people.ts";
import { Directives } from "../directives/directives.ts";
import { Follows } from "../follow/follows.ts";
import { AgentBrowsers } from "../mcp/agent-browsers.ts";
import { noteKill } from "../mcp/budgets.ts";
import { ChildEnds } from "../mcp/child-ends.ts";
import { Children } from "../mcp/children.ts";
import { Messages } from "../mcp/messages.ts";
import { Voice } from "../mcp/voice.ts";
import { AgentMemory } from "../memory/agent-memory.ts";
import { PeopleMemory } from "../memory/people-memory.ts";
import { MemorySearch } from "../memory/search.ts";
import { RoomBook } from "../rooms/book.ts";
import { RoomDriver } from "../rooms/driver.ts";
import { Rooms } from "../rooms/rooms.ts";
import { LogKeeper } from "../streams/log-keeper.ts";
import { Creation } from "../threads/creation.ts";
import { Finisher } from "../threads/finisher.ts";
import { Homes } from "../threads/homes.ts";
import { Inputs } from "../threads/inputs.ts";
import { killWithChildren } from "../threads/kill.ts";
import { LastWordsReader } from "../threads/last-words.ts";
import { Orphans } from "../threads/orphans.ts";
import { Outputs } from "../threads/outputs.ts";
import { Reconciler } from "../threads/reconciler.ts";
import { Retention } from "../threads/retention.ts";
import { Sizes } from "../threads/sizes.ts";
import { Threads } from "../threads/threads.ts";
import { Watchdog } from "../threads/watchdog.ts";
import { Watcher } from "../threads/watcher.ts";
import type { WiredKinds } from "./kinds.ts";
import type { Machine } from "./machine.ts";
import type { Setting } from "./setting.ts";
import type { Storage } from "./storage.ts";

/** What all of them share. */
export interface Common extends Storage, Machine, WiredKinds, Pick<Setting, "log" | "now" | "config"> {
  threads: Threads;
  homes: Homes;
  sizes: Sizes;
  /** Ids that are being made right now. */
  creating: Set<string>;
}

export function createCommon(
  { config, log, now }: Setting,
  storage: Storage,
  machine: Machine,
  wired: WiredKinds,
): Common {
  const parts = { ...storage, ...machine, ...wired, config, log, now };
  const homes = new Homes(storage.store);
  return {
    ...parts,
    homes,
    threads: new Threads(parts),
    sizes: new Sizes(parts),
    creating: new Set(),
  };
}

/** What callers do with threads. */
export interface Operations {
  threads: Threads;
  threadDetails: ThreadDetails;
  lastWords: LastWordsReader;
  homes: Homes;
  creation: Creation;
  follows: Follows;
  browsers: Browsers;
  agentBrowsers: AgentBrowsers;
  inputs: Inputs;
  outputs: Outputs;
  agents: Agents;
  channels: Channels;
  branches: Branches;
  conversations: Conversations;
  merges: Merges;
  directives: Directives;
  attachments: Attachments;
  mcpFiles: McpFiles;
  children: Children;
  childEnds: ChildEnds;
  messages: Messages;
  memory: AgentMemory;
  peopleMemory: PeopleMemory;
  memorySearch: MemorySearch;
  marks: Marks;
  mainAgents: MainAgents;
  mainStatus: MainStatuses;
  handOvers: HandOvers;
  spoken: Spoken;
  voice: Voice;
  rooms: Rooms;
  roomDriver: RoomDriver;
  kill: (threadId: ThreadId, by: Principal, request?: KillRequest) => Promise<KillReply>;
}

export function createOperations(common: Common, onRead: (seconds: number) => void): Operations {
  const { threads, agentKind, agentThreads, config } = common;
  const { threadEnv } = config;
  const settings = config.agent;
  const agents = new Agents({ ...common, agents: agentThreads, kind: agentKind, threadEnv, settings });
  const memory = new AgentMemory({ ...common, agents });
  common.memoryWriter.listen((rows) => void memory.tell(rows));
  const creation = new Creation(common);
  const inputs = new Inputs(common);
  const kill: Operations["kill"] = async (threadId, by, { children: what = "kill" } = {}) => {
    const find = () => {
      const below = what === "kill" ? children.descendantsOf(threadId) : [];
      return [...below, ...agentBrowsers.listOf([threadId, ...below])];
    };
    const reply = await killWithChildren(common, threadId, find, by);
    await noteKill({ threads, agents, children }, threadId);
    return reply;
  };
  const engine = config.agent.engine ?? DEFAULT_ENGINE;
  const directives = new Directives({ ...common, threadEnv, engine });
  const foldNow = (threadId: ThreadId) => agents.foldNow(threadId);
  const marks = new Marks({ ...common, agents: agentThreads, kind: agentKind });
  const children = new Children({ ...common, creation, agents, marks, directives, kill });
  const browsers = new Browsers(common);
  const agentBrowsers = new AgentBrowsers({ ...common, browsers, creation, kill });
  return {
    threads,
    threadDetails: new ThreadDetails(common.store, threads, common.folders),
    lastWords: new LastWordsReader(common),
    homes: common.homes,
    creation,
    browsers,
    agentBrowsers,
    follows: new Follows({ ...common, creation, threadEnv }),
    channels: new Channels({ ...common, settings: config.agent, directives, people: peopleOf(common.store) }),
    branches: new Branches({ ...common, creation, agents: agentThreads, threadEnv }),
    conversations: new Conversations({ ...common, creation, threadEnv, engine: config.agent.engine }),
    merges: new Merges(common),
    directives,
    inputs,
    outputs: new Outputs({ ...common, agents, onRead }),
    agents,
    attachments: common.attachments,
    mcpFiles: common.mcpFiles,
    children,
    childEnds: new ChildEnds({ ...common, agents, children, marks }),
    memory,
    memorySearch: new MemorySearch({
      ...{ ...common, memory, marks, index: common.memoryIndex },
      people: peopleOf(common.store),
    }),
    peopleMemory: new PeopleMemory({
      ...common,
      stateDir: common.folders.state,
      writes: common.store.memoryWrites,
    }),
    marks,
    messages: new Messages({ ...common, agents, children, marks }),
    ...createMains(common, creation, foldNow),
    spoken: new Spoken({ ...common, inputs, foldNow }),
    voice: new Voice({ ...common, agents, people: peopleOf(common.store) }),
    ...createRooms(common, { agents, creation, marks, directives }),
    kill,
  };
}

/** What is done with agents that hear channels. */
function createMains(
  common: Common,
  creation: Creation,
  foldNow: (threadId: ThreadId) => Promise<ThreadFold>,
): Pick<Operations, "mainAgents" | "mainStatus" | "handOvers"> {
  const people = peopleOf(common.store);
  const mainAgents = new MainAgents({ ...common, creation, promptFile: common.config.mainPromptFile });
  return {
    mainAgents,
    mainStatus: new MainStatuses({ ...common, foldNow, people }),
    handOvers: new HandOvers({ ...common, mainAgents, people }),
  };
}

/** Makes rooms, and the driver that asks those whose turn it is. */
function createRooms(
  common: Common,
  parts: Pick<Operations, "agents" | "creation" | "marks" | "directives">,
): Pick<Operations, "rooms" | "roomDriver"> {
  const { store, roomKind, folders, now } = common;
  const book = new RoomBook(store, now);
  const roomDriver = new RoomDriver({ ...common, ...parts, book, stateDir: folders.state });
  roomKind.setDriver(roomDriver);
  return {
    roomDriver,
    rooms: new Rooms({ ...common, ...parts, book, driver: roomDriver, people: peopleOf(store) }),
  };
}

/** What looks after threads by itself, once the watcher is started. */
export interface Care {
  orphans: Orphans;
  reconciler: Reconciler;
  watchdog: Watchdog;
  watcher: Watcher;
}

export function createCare(
  common: Common,
  { canPunchLogs: canPunch, totalIntervalMs }: Pick<Setting, "canPunchLogs" | "totalIntervalMs">,
  onGap: () => void,
): Care {
  const { config, files } = common;
  const { logMaxBytes, stateMaxBytes, logRetentionHours } = config;
  const keeper = new LogKeeper({ ...common, logs: files.logs, logMaxBytes, canPunch, onGap });
  keeper.recover();
  const retention = new Retention({
    ...common,
    shrinkLog: (threadId, keepBytes) => keeper.shrink(threadId, keepBytes),
    logRetentionHours,
    stateMaxBytes,
  });
  const orphans = new Orphans({ ...common, policy: config.orphanPolicy });
  // A run of a job is called like its thread: it is not begun a second time.
  const onCutOff = (threadId: ThreadId) => common.store.jobRuns.update(threadId, { begunAt: common.now() });
  const reconciler = new Reconciler({ ...common, orphans, onCutOff });
  const finisher = new Finisher(common);
  const watchdog = new Watchdog(common);
  const watcher = new Watcher({
    ...common,
    reconciler,
    finisher,
    keeper,
    retention,
    watchdog,
    totalIntervalMs,
  });
  return { orphans, reconciler, watchdog, watcher };
}
