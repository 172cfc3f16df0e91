/** Wires the sidecar together and listens. Each step knows only those before it. */
import { fileURLToPath } from "node:url";
import { findProgram } from "../shared/find-program.ts";
import { Releasers } from "../shared/lifecycle.ts";
import { createLog } from "../shared/log.ts";
import { AskFiles } from "./agents/ask-files.ts";
import { AgentMeter } from "./agents/meter.ts";
import { ProjectFiles } from "./agents/project-files.ts";
import { recoverAgents } from "./agents/recovery.ts";
import type { VmConfig } from "./config.ts";
import { Metrics } from "./http/metrics.ts";
import { Reviews } from "./mcp/reviews.ts";
import { BUDGET_LOOK_MS } from "./threads/budgets.ts";
import { finishKills } from "./threads/kill.ts";
import { openHookDoor } from "./wiring/hooks.ts";
import { openDoor } from "./wiring/http.ts";
import { createJobs } from "./wiring/jobs.ts";
import { createKinds } from "./wiring/kinds.ts";
import { createMachine } from "./wiring/machine.ts";
import type { Setting } from "./wiring/setting.ts";
import { openStorage } from "./wiring/storage.ts";
import {
  type Care,
  type Common,
  createCare,
  createCommon,
  createOperations,
  type Operations,
} from "./wiring/threads.ts";

/** Named here because the tests bundle the sidecar into one file in this folder: the path must hold there too. */
const WRAPPER = fileURLToPath(new URL("./tmux/wrap.sh", import.meta.url));
/** Without options for V8: with any, Node compiles its own modules anew at each start. */
const RUNNER = [process.execPath, fileURLToPath(new URL("../agent/main.cjs", import.meta.url))];
const FOLLOWER = [process.execPath, fileURLToPath(new URL("../follow/main.cjs", import.meta.url))];
const BROWSER = [process.execPath, fileURLToPath(new URL("../browser/main.cjs", import.meta.url))];
const INDEXER = fileURLToPath(new URL("./memory/indexer/main.bundle.cjs", import.meta.url));
const OWN_PROGRAMS = fileURLToPath(new URL("../agent/engines/", import.meta.url));

/**
 * The folder of the console's page: made by `node scripts/build.mjs --pages` beside the sources, by `npm run build`
 * in dist/.
 */
const PAGE = fileURLToPath(new URL("./console/bundle/", import.meta.url));

const TOTAL_INTERVAL_MS = 10_000;

export interface Sidecar {
  url: string;
  /** The address of the hook's door; undefined if it is shut. */
  hookUrl: string | undefined;
  token: string;
  relayToken: string;
  /** Stops serving. tmux and everything in it go on. */
  close: () => Promise<void>;
}

export type SidecarOptions = Partial<
  Omit<
    Setting,
    "config" | "releasers" | "wrapper" | "runner" | "follower" | "browser" | "indexer" | "ownPrograms"
  >
>;

/** @throws Error in words for a person if something that is needed is missing. */
export async function runSidecar(config: VmConfig, options: SidecarOptions = {}): Promise<Sidecar> {
  const releasers = new Releasers();
  try {
    const setting: Setting = {
      log: createLog("vm", config.logLevel),
      now: Date.now,
      guestKinds: {},
      page: PAGE,
      viewersLimits: {},
      eventsLimits: {},
      canPunchLogs: true,
      canUseCgroups: true,
      budgetLookMs: BUDGET_LOOK_MS,
      totalIntervalMs: TOTAL_INTERVAL_MS,
      ...options,
      config,
      releasers,
      wrapper: WRAPPER,
      runner: RUNNER,
      follower: FOLLOWER,
      browser: BROWSER,
      indexer: INDEXER,
      ownPrograms: OWN_PROGRAMS,
    };
    const { log } = setting;
    const storage = openStorage(setting);
    const machine = await createMachine(setting, storage);
    const common = createCommon(setting, storage, machine, createKinds(setting, storage, machine));
    const metrics = createMetrics(common);
    const operations = createOperations(common, (seconds) => metrics.outputSeconds.observe(seconds));
    const care = createCare(common, setting, () => metrics.gaps.inc());
    await start(common, care, metrics, releasers);
    await recover(operations);
    operations.agentBrowsers.start();
    releasers.add("agents' browsers", () => operations.agentBrowsers.close());
    startRooms(common, operations, releasers);
    startAskFiles(common, operations, releasers);
    startProjectFiles(common, releasers);
    startBudgets(common, operations);
    await startReviews(common, operations, releasers);
    const wired = createJobs(
      common,
      operations,
      { ...setting, sandbox: machine.foundSandbox.sandbox },
      metrics,
    );
    const { jobs, jobNews, hookTests } = wired;
    const hookUrl = await openHookDoor(setting, storage, wired);
    hookTests.setUrl(hookUrl);
    const url = await openDoor({ setting, storage, machine, operations, metrics, jobs, jobNews, hookTests });
    wired.start();
    const { stateDir, reposDir, token, relayToken } = storage;
    log.info(
      { url, ...(hookUrl !== undefined && { hookUrl }), tmux: machine.tmux.version, reposDir, stateDir },
      "sidecar is ready",
    );
    if (findProgram("git", config.threadEnv["PATH"] ?? "") === undefined)
      log.warn("git is not on PATH: agents work without Undo, Diff and worktrees until it is installed");
    return { url, hookUrl, token, relayToken, close: () => releasers.close() };
  } catch (error) {
    await releasers.close();
    throw error;
  }
}

/** Completes what an earlier sidecar was killed in the middle of. */
async function recover({ handOvers, messages, memory, follows, childEnds }: Operations): Promise<void> {
  await handOvers.recover();
  await messages.recover();
  await memory.recover();
  follows.recover();
  childEnds.recover();
}

function startAskFiles(common: Common, { agents }: Operations, releasers: Releasers): void {
  const { config } = common;
  const askFiles = new AskFiles({
    ...common,
    answer: (...answer) => agents.answer(...answer),
    takesAnswers: config.askFiles ?? false,
    timeoutSeconds: config.agent.timeouts.askTimeoutSeconds,
  });
  releasers.add("asks' files", () => askFiles.close());
  askFiles.start();
}

function startProjectFiles(common: Common, releasers: Releasers): void {
  if (!common.config.projectFiles) return;
  const files = new ProjectFiles({ ...common, threadEnv: common.config.threadEnv });
  releasers.add("files in projects", () => files.close());
  files.start();
}

async function startReviews(common: Common, operations: Operations, releasers: Releasers): Promise<void> {
  const reviews = new Reviews({ ...common, ...operations });
  common.listenToEvents((...event) => reviews.note(...event));
  releasers.add("reviews at gates", () => reviews.close());
  await reviews.start();
}

/** Notices what members do from now on, and lets rooms go on from their rows. */
function startRooms({ store, listenToEvents }: Common, operations: Operations, releasers: Releasers): void {
  const { rooms, roomDriver } = operations;
  listenToEvents((threadId, _, event) => {
    const roomId = store.rooms.findRoomOf(threadId);
    if (roomId !== undefined) rooms.noteEvent(roomId, threadId, event);
  });
  releasers.add("rooms", () => roomDriver.close());
  rooms.recover();
}

/** From now on threads are told of the limits that they reach. */
function startBudgets({ budgets, log }: Common, { agents }: Operations): void {
  budgets.start((threadId, sentence) => {
    agents.noteNotice(threadId, sentence).catch((error: unknown) => {
      log.warn({ threadId, err: error }, "an agent could not be told of its budget");
    });
  });
}

function createMetrics({ store, sizes, tmux, freeDiskBytes, listenToEvents }: Common): Metrics {
  const metrics = new Metrics({
    listThreads: () => store.threads.list("all"),
    logDiskBytes: () => sizes.logBytes,
    folderDiskBytes: () => sizes.kindBytes,
    isTmuxUp: () => tmux.downForMs() === null,
    freeDiskBytes,
  });
  const meter = new AgentMeter(metrics.measureAgent);
  listenToEvents((...news) => meter.observe(...news));
  return metrics;
}

/** Connects to tmux, brings the threads in step with it, and begins to look after them. */
async function start(
  common: Common,
  { reconciler, watchdog, watcher, orphans }: Care,
  metrics: Metrics,
  releasers: Releasers,
): Promise<void> {
  const { tmux, queue, store, folders, agentKind, browserKind, starter, endedThreads, removal } = common;
  const { worktrees, userSpace } = common;
  const { config, log, now, listenToTrouble } = common;
  listenToTrouble(() => watcher.noticeTrouble());
  starter.listen((threadId) => {
    queue
      .run(threadId, () => starter.startIfNeeded(threadId))
      .catch((error: unknown) => {
        log.error({ threadId, err: error }, "could not start a runner; trying again");
        watcher.noticeTrouble();
      });
  });
  await tmux.start({
    onConnected: async () => {
      // Beside a program that keeps tmux from all others nothing else would come to its end.
      await watchdog.look();
      await reconciler.reconcile();
    },
    onChange: () => watcher.noticeChange(),
    onLost: () => metrics.tmuxRestarts.inc(),
    onCommand: (seconds) => metrics.tmuxSeconds.observe(seconds),
  });
  releasers.add("tmux client", () => tmux.close());
  orphans.refuse();
  releasers.add("queue", () => queue.idle());
  await recoverAgents({
    ...{ store, folders, kind: agentKind, queue, log, now },
    allowBypass: config.agent.allowBypass ?? false,
  });
  endedThreads.recover(queue);
  removal.recover();
  userSpace.recover();
  browserKind.recover();
  worktrees.recover().catch((error: unknown) => log.error({ err: error }, "could not remove worktrees"));
  finishKills(common).catch((error: unknown) => {
    log.error({ err: error }, "could not finish kills that were cut off; the next start tries again");
  });
  watcher.start();
  releasers.add("watcher", () => watcher.close());
}
