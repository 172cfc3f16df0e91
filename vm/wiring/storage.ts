/** The state folder: the lock on it, the token, the database, logs and agents' folders, and who is told of changes. */
import { AgentFolders } from "../agents/folders.ts";
import { Origins } from "../agents/origin.ts";
import { Worktrees } from "../agents/worktrees.ts";
import { BrowserFolders } from "../browser/folders.ts";
import { statePaths } from "../config.ts";
import { MemoryIndex } from "../memory/memory-index.ts";
import { MemoryWriter } from "../memory/writer.ts";
import { makeReposDir, makeStateDir, readOrMakeToken, SAME_TOKENS } from "../state-dir.ts";
import { holdLock } from "../store/lock.ts";
import { openStore, type Store } from "../store/store.ts";
import { freeDiskBytes } from "../streams/disk.ts";
import { LogWatch } from "../streams/log-watch.ts";
import { ThreadFiles } from "../threads/thread-files.ts";
import { UserSpace } from "../threads/user-space.ts";
import type { Setting } from "./setting.ts";

export interface Storage {
  stateDir: string;
  /** A real path. */
  reposDir: string;
  token: string;
  relayToken: string;
  files: ThreadFiles;
  folders: AgentFolders;
  browserFolders: BrowserFolders;
  origins: Origins;
  worktrees: Worktrees;
  userSpace: UserSpace;
  /** Told of every change of a thread's row, log or transcript. */
  logWatch: LogWatch;
  store: Store;
  memoryWriter: MemoryWriter;
  memoryIndex: MemoryIndex;
  freeDiskBytes: () => number;
}

/** @throws Error in words for a person if a folder, the lock or the database can't be had. */
export function openStorage({ config, log, now, releasers, indexer, guestKinds }: Setting): Storage {
  const { stateDir, threadEnv, worktreeSetup: setup } = config;
  makeStateDir(stateDir);
  const reposDir = makeReposDir(config.reposDir, stateDir);
  const paths = statePaths(stateDir);
  const lock = holdLock(paths.lock);
  releasers.add("lock", lock.release);
  const token = config.token ?? readOrMakeToken(paths.token);
  const relayToken = config.relayToken ?? readOrMakeToken(paths.relayToken);
  if (relayToken === token) throw new Error(`RELAY_TOKEN: ${SAME_TOKENS}`);
  const files = new ThreadFiles(stateDir);
  const logWatch = new LogWatch(paths.logs, log);
  releasers.add("log watch", () => logWatch.close());
  const guestFacts = Object.fromEntries(Object.entries(guestKinds).map(([type, { facts }]) => [type, facts]));
  const store = openStore(paths.database, (threadId) => logWatch.notify(threadId), guestFacts);
  releasers.add("database", () => store.close());
  store.events.beginAt(now());
  const folders = new AgentFolders(stateDir);
  const realDir = folders.state;
  const memoryIndex = new MemoryIndex({ indexer, stateDir: realDir, file: paths.memoryIndex, log });
  const memoryWriter = new MemoryWriter({
    ...{ stateDir: realDir, writes: store.memoryWrites, log, now },
    onChange: () => memoryIndex.noteChange(),
  });
  releasers.add("the index of memories", () => memoryIndex.close());
  const userSpace = new UserSpace(folders.state, log);
  releasers.add("files of removed threads", () => userSpace.idle());
  return {
    stateDir,
    reposDir,
    token,
    relayToken,
    files,
    folders,
    browserFolders: new BrowserFolders(folders.state),
    origins: new Origins(stateDir),
    // Agents work there: their directory has no link in it.
    worktrees: new Worktrees({ stateDir: folders.state, reposDir, threadEnv, setup, log }),
    userSpace,
    logWatch,
    store,
    memoryWriter,
    memoryIndex,
    freeDiskBytes: () => freeDiskBytes(stateDir),
  };
}
