/** Wires the sidecar together and listens. */
import { realpathSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import type { HealthReply } from "../shared/api.ts";
import { KeyedQueue, Releasers } from "../shared/lifecycle.ts";
import { createLog, type Log } from "../shared/log.ts";
import { VERSION } from "../shared/version.ts";
import { AgentKind } from "./agents/agent-kind.ts";
import { AgentThreads } from "./agents/agent-threads.ts";
import { Agents } from "./agents/agents.ts";
import { AgentFolders } from "./agents/folders.ts";
import { launchOf } from "./agents/requests.ts";
import { Runners } from "./agents/runners.ts";
import { createTokenCheck } from "./callers/token.ts";
import { isLoopback, statePaths, type VmConfig } from "./config.ts";
import { createConsole } from "./console/routes.ts";
import { Sessions } from "./console/sessions.ts";
import { Viewers, type ViewersLimits } from "./console/viewers.ts";
import { createApp } from "./http/app.ts";
import { WrongTokens } from "./http/guard.ts";
import { Metrics } from "./http/metrics.ts";
import { RefusalLog } from "./http/refusal-log.ts";
import { createHttpServer } from "./http/server.ts";
import { Cgroups } from "./processes/cgroups.ts";
import { makeReposDir, makeStateDir, readOrMakeToken } from "./state-dir.ts";
import { holdLock } from "./store/lock.ts";
import { openStore } from "./store/store.ts";
import { freeDiskBytes, LOW_BYTES } from "./streams/disk.ts";
import { LogKeeper } from "./streams/log-keeper.ts";
import { LogWatch } from "./streams/log-watch.ts";
import { Creation } from "./threads/creation.ts";
import { Finisher } from "./threads/finisher.ts";
import { Inputs } from "./threads/inputs.ts";
import { killThread } from "./threads/kill.ts";
import { TerminalKind } from "./threads/kinds/terminal.ts";
import { Ledgers } from "./threads/ledgers.ts";
import { sessionName } from "./threads/names.ts";
import { Orphans } from "./threads/orphans.ts";
import { Outputs } from "./threads/outputs.ts";
import { Programs } from "./threads/programs.ts";
import { Reconciler } from "./threads/reconciler.ts";
import { Repos } from "./threads/repos.ts";
import { Retention } from "./threads/retention.ts";
import { Sizes } from "./threads/sizes.ts";
import { ThreadFiles } from "./threads/thread-files.ts";
import { Threads } from "./threads/threads.ts";
import { Typing } from "./threads/typing.ts";
import { Watcher } from "./threads/watcher.ts";
import { TmuxServer } from "./tmux/server.ts";

/** Named here because the tests bundle the sidecar into one file in this folder: the path must hold there too. */
const WRAPPER = fileURLToPath(new URL("./tmux/wrap.sh", import.meta.url));
const RUNNER = [process.execPath, fileURLToPath(new URL("../agent/main.js", import.meta.url))];
const DEMO = fileURLToPath(new URL("../agent/engines/demo/main.js", import.meta.url));

export interface Sidecar {
  url: string;
  token: string;
  /** Stops serving. tmux and everything in it go on. */
  close: () => Promise<void>;
}

/** @throws Error in words for a person where something that is needed is missing. */
export async function runSidecar(
  config: VmConfig,
  {
    log = createLog("vm", config.logLevel),
    now = Date.now,
    viewersLimits = {},
    canPunchLogs = true,
    canUseCgroups = true,
  }: {
    log?: Log;
    now?: () => number;
    viewersLimits?: Partial<ViewersLimits>;
    canPunchLogs?: boolean;
    canUseCgroups?: boolean;
  } = {},
): Promise<Sidecar> {
  const releasers = new Releasers();
  try {
    const { stateDir } = config;
    makeStateDir(stateDir);
    makeReposDir(config.reposDir);
    const reposDir = realpathSync(config.reposDir);
    const paths = statePaths(stateDir);
    const lock = holdLock(paths.lock);
    releasers.add("lock", lock.release);
    const token = config.token ?? readOrMakeToken(paths.token);
    const files = new ThreadFiles(stateDir);
    const logWatch = new LogWatch(paths.logs, log);
    const store = openStore(paths.database, (threadId) => logWatch.notify(threadId));
    releasers.add("database", () => store.close());

    const queue = new KeyedQueue();
    const creating = new Set<string>();
    const freeBytesNow = () => freeDiskBytes(stateDir);
    const tmux = new TmuxServer({ stateDir, env: config.threadEnv, log });
    const cgroups = canUseCgroups ? Cgroups.open(stateDir) : undefined;
    releasers.add("control groups", () => cgroups?.close());
    const { threadEnv } = config;
    const programs = new Programs({ tmux, files, cgroups, wrapper: WRAPPER });
    const typing = new Typing({ store, tmux });
    const folders = new AgentFolders(stateDir);
    const onChange = (threadId: string) => logWatch.notify(threadId);
    const agentThreads = new AgentThreads({ store, folders, onChange, log });
    releasers.add("agents' transcripts", () => agentThreads.close());
    const agentKind = new AgentKind({
      store,
      files,
      folders,
      agents: agentThreads,
      runners: new Runners({ store, tmux, programs, folders, runner: RUNNER, threadEnv }),
      launch: launchOf(config.agent, DEMO),
      threadEnv,
      log,
      now,
    });
    const terminalKind = new TerminalKind({ store, files, programs, typing, threadEnv, log, now });
    const kinds = { terminal: terminalKind, agent: agentKind };
    const sizes = new Sizes({ store, files, kinds });
    const metrics = new Metrics({
      listThreads: () => store.threads.list("all"),
      logDiskBytes: () => sizes.logBytes,
      folderDiskBytes: () => sizes.kindBytes,
      isTmuxUp: () => tmux.downForMs() === null,
      freeDiskBytes: freeBytesNow,
    });
    const threads = new Threads({ store, tmux, files, kinds, queue });
    const agents = new Agents({ store, threads, folders, agents: agentThreads, kind: agentKind, queue, now });
    const keeper = new LogKeeper({
      store,
      tmux,
      logs: files.logs,
      queue,
      logMaxBytes: config.logMaxBytes,
      canPunch: canPunchLogs,
      onGap: () => metrics.gaps.inc(),
      log,
      now,
    });
    keeper.recover();
    const orphans = new Orphans({ policy: config.orphanPolicy, store, tmux, files, reposDir, log, now });
    const reconciler = new Reconciler({
      store,
      tmux,
      threads,
      programs,
      kinds,
      orphans,
      queue,
      creating,
      log,
    });
    const watcher = new Watcher({
      store,
      tmux,
      files,
      threads,
      reconciler,
      finisher: new Finisher({ store, tmux, files, kinds, log, now }),
      keeper,
      retention: new Retention({
        store,
        threads,
        sizes,
        queue,
        shrinkLog: (threadId, keepBytes) => keeper.shrink(threadId, keepBytes),
        logRetentionHours: config.logRetentionHours,
        stateMaxBytes: config.stateMaxBytes,
        log,
        now,
      }),
      queue,
      log,
    });
    await tmux.start({
      onConnected: () => reconciler.reconcile(),
      onChange: () => watcher.noticeChange(),
      onLost: () => metrics.tmuxRestarts.inc(),
      onCommand: (seconds) => metrics.tmuxSeconds.observe(seconds),
    });
    releasers.add("tmux client", () => tmux.close());
    orphans.refuse();
    releasers.add("queue", () => queue.idle());
    watcher.start();
    releasers.add("watcher", () => watcher.close());

    const creation = new Creation({
      store,
      tmux,
      files,
      threads,
      kinds,
      cgroups,
      queue,
      creating,
      reposDir,
      maxThreads: config.maxThreads,
      freeDiskBytes: freeBytesNow,
      log,
      now,
    });
    const checkToken = createTokenCheck(token);
    const wrongTokens = new WrongTokens({ now, onWrong: () => metrics.wrongTokens.inc() });
    const refusalLog = new RefusalLog(log);
    releasers.add("log of refusals", () => refusalLog.close());
    const sessions = new Sessions(now);
    const console = createConsole({ sessions, checkToken, isLoopback: isLoopback(config.host) });
    const viewers = new Viewers({
      tmux: { stateDir, env: config.threadEnv, ping: () => tmux.ping() },
      isTmuxUp: () => tmux.downForMs() === null,
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
    const inputs = new Inputs({ threads, kinds, queue, now });
    const onRead = (seconds: number) => metrics.outputSeconds.observe(seconds);
    const outputs = new Outputs({ store, files, threads, agents, logWatch, onRead });
    const killOptions = { store, tmux, files, threads, programs, kinds, queue, log, now };
    const startedAt = now();
    const getHealth = (): HealthReply => {
      const downMs = tmux.downForMs();
      const freeBytes = freeBytesNow();
      const hasRoom = freeBytes > LOW_BYTES;
      return {
        ok: downMs === null && hasRoom,
        version: VERSION,
        uptimeSeconds: Math.round((now() - startedAt) / 1_000),
        tmux: {
          up: downMs === null,
          version: tmux.version,
          downForSeconds: downMs === null ? null : Math.round(downMs / 1_000),
        },
        disk: { ok: hasRoom, freeBytes },
      };
    };
    const app = createApp({
      threads,
      creation,
      inputs,
      outputs,
      ledgers: new Ledgers(store),
      agents,
      kill: (threadId) => killThread(killOptions, threadId),
      checkToken,
      wrongTokens,
      refusalLog,
      console,
      repos: new Repos(reposDir, threadEnv),
      getHealth,
      metrics,
      log,
    });
    const server = createHttpServer({
      app,
      onWebSocket: (request, socket, head) => viewers.upgrade(request, socket, head),
    });
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(config.port, config.host, resolve);
    });
    releasers.add("http server", () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      return closed;
    });
    releasers.add("viewers", () => viewers.close());
    releasers.add("log watch", () => logWatch.close());
    const { port } = server.address() as AddressInfo;
    const host = config.host.includes(":") ? `[${config.host}]` : config.host;
    const url = `http://${host}:${port}`;
    log.info({ url, tmux: tmux.version, reposDir, stateDir }, "sidecar is ready");
    return { url, token, close: () => releasers.close() };
  } catch (error) {
    await releasers.close();
    throw error;
  }
}
