/** The sidecar's door: the API, the console and its terminals on one address. */
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { threadPath } from "../../shared/agent/paths.ts";
import type { ThreadId } from "../../shared/ids.ts";
import { EngineList } from "../agents/engine-list.ts";
import { canBeHeld } from "../agents/outside.ts";
import { peopleOf } from "../callers/people.ts";
import { createTokenCheck } from "../callers/token.ts";
import { isLoopback } from "../config.ts";
import { createConsole } from "../console/routes.ts";
import { Sessions } from "../console/sessions.ts";
import { Viewers } from "../console/viewers.ts";
import { EventHub } from "../events/hub.ts";
import { doWhatIsLeft } from "../http/afterwards.ts";
import { createApp } from "../http/app.ts";
import { WrongTokens } from "../http/guard.ts";
import type { Metrics } from "../http/metrics.ts";
import { RefusalLog } from "../http/refusal-log.ts";
import { createHttpServer } from "../http/server.ts";
import { agentJobTools } from "../jobs/agent-tools.ts";
import type { HookTests } from "../jobs/hook-test.ts";
import type { Jobs } from "../jobs/jobs.ts";
import type { JobNews } from "../jobs/news.ts";
import { reportTool } from "../jobs/report-tool.ts";
import { browserTools } from "../mcp/browser-tools.ts";
import { childTools } from "../mcp/child-tools.ts";
import { readInputsTool } from "../mcp/heard-inputs.ts";
import { type MayUse, makeMayUse } from "../mcp/may-use.ts";
import { memoryTools } from "../mcp/memory-tools.ts";
import { messageTool } from "../mcp/message-tool.ts";
import { makeKeepFile, sendFileTool } from "../mcp/send-file.ts";
import { McpServer } from "../mcp/server.ts";
import type { Tool } from "../mcp/tool.ts";
import { voiceTools } from "../mcp/voice-tools.ts";
import { Ledgers } from "../threads/ledgers.ts";
import { sessionName } from "../threads/names.ts";
import { Repos } from "../threads/repos.ts";
import { createHealth, groupsHealth } from "./health.ts";
import { connectionsBeside } from "./hooks.ts";
import type { Machine } from "./machine.ts";
import type { Setting } from "./setting.ts";
import type { Storage } from "./storage.ts";
import type { Operations } from "./threads.ts";

export interface DoorOptions {
  setting: Setting;
  storage: Storage;
  machine: Machine;
  operations: Operations;
  metrics: Metrics;
  jobs: Jobs;
  jobNews: JobNews;
  hookTests: HookTests;
}

/** @returns the address that it listens on. */
export async function openDoor({
  setting,
  storage,
  machine,
  operations,
  metrics,
  jobs,
  jobNews,
  hookTests,
}: DoorOptions): Promise<string> {
  const { config, log, now, releasers, viewersLimits, page } = setting;
  const { stateDir, reposDir, store, logWatch, token, relayToken } = storage;
  const { tmux, foundSandbox } = machine;
  const checkToken = createTokenCheck(token);
  const wrongTokens = new WrongTokens({ now, onWrong: () => metrics.wrongTokens.inc() });
  const refusalLog = new RefusalLog(log);
  releasers.add("log of refusals", () => refusalLog.close());
  releasers.add("log of answers", doWhatIsLeft);
  const console = createConsole({
    sessions: new Sessions({
      file: join(stateDir, "console-sessions.json"),
      token,
      now,
      onTrouble: (error) => log.warn({ err: error }, "could not keep who is signed in to the console"),
    }),
    checkToken,
    isLoopback: isLoopback(config.host),
    page,
  });
  const viewers = new Viewers({
    tmux: { stateDir, env: config.threadEnv, ping: () => tmux.ping(), patience: tmux.escapeTime },
    isTmuxUp: () => tmux.downForMs() === null,
    resolve: (name) => operations.homes.resolve(name),
    findThread: (threadId) => store.threads.find(threadId),
    sessionName,
    admit: console.admit,
    mayRefuse: ({ socket }) => {
      refusalLog.note(socket.remoteAddress);
      return wrongTokens.mayAnswer(socket.remoteAddress);
    },
    log,
    limits: viewersLimits,
  });
  const events = createEvents(setting, storage);
  metrics.watchEvents(events);
  const app = createApp({
    ...operations,
    mcp: createMcp({ operations, storage, jobs, jobNews, now, log }),
    events,
    ledgers: new Ledgers(store, operations.homes),
    repos: new Repos(reposDir, config.threadEnv),
    engines: createEngines(setting, storage),
    checkToken,
    checkRelayToken: createTokenCheck(relayToken),
    wrongTokens,
    ...{ store, people: peopleOf(store) },
    refusalLog,
    console,
    getHealth: createHealth({
      ...{ now, tmux, sandbox: foundSandbox.health, groups: groupsHealth(machine) },
      freeDiskBytes: storage.freeDiskBytes,
      overdueJobs: () => jobs.overdue(),
    }),
    ...{ metrics, jobs, jobNews, hookTests },
    log,
  });
  const onWebSocket: Viewers["upgrade"] = (...upgrade) => viewers.upgrade(...upgrade);
  const server = createHttpServer({ app, onWebSocket, connections: connectionsBeside(config) });
  await listen(server, config);
  operations.mcpFiles.setPlace({ host: config.host, port: (server.address() as AddressInfo).port });
  releasers.add("http server", () => close(server));
  releasers.add("viewers", () => viewers.close());
  releasers.add("readers of events", () => events.close());
  // Who waits for news has an answer before the server waits for who is unanswered.
  releasers.add("waiting readers", () => logWatch.close());
  return urlOf(server, config.host);
}

function createEvents({ log, eventsLimits }: Setting, { store, folders }: Storage): EventHub {
  return new EventHub({
    store,
    transcript: (threadId) => threadPath(folders.of(threadId), "transcript"),
    makingOf: (threadId) => folders.makingOf(threadId),
    tagsOf: (threadId) => folders.tagsOf(threadId),
    log,
    ...eventsLimits,
  });
}

function createEngines({ config, ownPrograms, now }: Setting, { reposDir, stateDir }: Storage): EngineList {
  const { agent: settings, threadEnv } = config;
  const threadDirs = [reposDir, stateDir];
  return new EngineList({ settings, ownPrograms, threadEnv, stateDir, threadDirs, now });
}

function createMcp({
  operations,
  storage,
  log,
  ...rest
}: Pick<DoorOptions, "operations" | "storage" | "jobs" | "jobNews"> &
  Pick<Setting, "now" | "log">): McpServer {
  const { store } = storage;
  const mayUse = makeMayUse({ ...operations, store, people: peopleOf(store) });
  return new McpServer(toolsOf({ ...operations, mayUse }, storage, rest), { mayUse, log });
}

/** What agents may call. */
function toolsOf(
  operations: Operations & { mayUse: MayUse },
  { logWatch, folders, store }: Storage,
  { jobs, jobNews: news, now }: Pick<DoorOptions, "jobs" | "jobNews"> & Pick<Setting, "now">,
): Tool[] {
  const { state } = folders;
  const hasVoice = (threadId: ThreadId) => folders.madeBy(threadId).voice !== undefined;
  return [
    sendFileTool({ ...operations, state }),
    ...childTools({ ...operations, logWatch }),
    messageTool({ ...operations, isFor: (threadId) => !hasVoice(threadId) }),
    ...memoryTools(operations),
    reportTool({ store, news }),
    ...agentJobTools({ ...operations, store, jobs, now }),
    ...voiceTools({ ...operations, isFor: hasVoice, keepFile: makeKeepFile({ ...operations, state }) }),
    readInputsTool({ ...operations, isFor: hasVoice }),
    ...browserTools({ ...operations, canBeHeld: (threadId) => canBeHeld(folders.engineOf(threadId)) }),
  ];
}

function listen(server: Server, { port, host }: { port: number; host: string }): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, resolve);
  });
}

function close(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeAllConnections();
  return closed;
}

function urlOf(server: Server, host: string): string {
  const { port } = server.address() as AddressInfo;
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}
