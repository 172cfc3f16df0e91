// Child programs with a log each, waiting for them, and knowing whether another scripts/run is alive.
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { homedir } from "node:os";
import { basename, delimiter, dirname, isAbsolute, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

/** Whether a program of that name can be run from PATH, by the sidecar's rule: absolute folders alone. */
export function isOnPath(program) {
  const folders = (process.env.PATH ?? "").split(delimiter).filter(isAbsolute);
  return folders.some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK);
      return statSync(join(folder, program)).isFile();
    } catch {
      return false; // not there or not runnable: the next one
    }
  });
}

/** A failure that is told in one go, without a stack. */
export class Problem extends Error {}

/** Of a log; the older half of what is kept is in a second file. */
const LOG_MAX_BYTES = 8 * 1024 * 1024;
const LOG_CHECK_MS = 2_000;

export class Program {
  #child;
  #isEnding = false;

  /**
   * @param name for people, such as "the sidecar"
   * @param flags Node's own
   * @param args the program's own
   * @param onEnd called when it ends and was not told to
   * @param logMaxBytes beyond it the log starts anew, and what was in it is in `<log>.1`
   */
  constructor({
    name,
    script,
    flags = [],
    args = [],
    env,
    cwd,
    log,
    onEnd = () => {},
    logMaxBytes = LOG_MAX_BYTES,
    logCheckMs = LOG_CHECK_MS,
  }) {
    this.name = name;
    this.log = log;
    if (existsSync(log)) renameSync(log, `${log}.1`);
    // Appending, so that the program goes on at the start of a log that was emptied.
    const fd = openSync(log, "a", 0o600);
    // A process group of its own: Ctrl-C reaches scripts/run alone, which then ends its programs in order.
    const [command, ...words] = [...dieWithUs(), process.execPath, ...flags, script, ...args];
    this.#child = spawn(command, words, { cwd, env, detached: true, stdio: ["ignore", fd, fd] });
    closeSync(fd);
    this.ended = new Promise((resolve) => {
      this.#child.once("error", (error) => resolve(error.message));
      this.#child.once("exit", (code, signal) => resolve(signal ? `signal ${signal}` : `exit code ${code}`));
    });
    this.how = undefined;
    const rotation = setInterval(() => rotate(log, logMaxBytes), logCheckMs).unref();
    this.ended.then((how) => {
      this.how = how;
      clearInterval(rotation);
      if (!this.#isEnding) onEnd(this);
    });
  }

  get output() {
    return readFileSync(this.log, "utf8");
  }

  /** What to tell a person: the ends of a log are where the reason is. */
  lastLines(count = 15) {
    const lines = this.output.trimEnd().split("\n").slice(-count).map(readable);
    return `The last lines of ${this.log}:\n${lines.map((line) => `  ${line}`).join("\n")}`;
  }

  /** Waits until `isReady` says so. @throws Problem where the program ends first or the time is over. */
  async ready(isReady, timeoutMs) {
    const deadline = Date.now() + timeoutMs;
    for (;;) {
      if (await isReady()) return;
      if (this.how)
        throw new Problem(`${this.name} ended while starting (${this.how}).\n${this.lastLines()}`);
      if (Date.now() > deadline) {
        const seconds = timeoutMs / 1_000;
        throw new Problem(`${this.name} was not ready after ${seconds} s.\n${this.lastLines()}`);
      }
      await Promise.race([pause(50), this.ended]);
    }
  }

  /** Resolves when it is gone; it gets `graceMs` to go by itself. */
  async end(graceMs = 10_000) {
    this.#isEnding = true;
    if (this.how) return;
    this.#child.kill("SIGTERM");
    const timer = setTimeout(() => this.kill(), graceMs);
    await this.ended;
    clearTimeout(timer);
  }

  kill() {
    this.#isEnding = true;
    if (!this.how) this.#child.kill("SIGKILL");
  }
}

/** The program keeps the file open, so that it is copied and emptied; lines that it writes in between are lost. */
function rotate(log, maxBytes) {
  try {
    if (statSync(log).size <= maxBytes) return;
    copyFileSync(log, `${log}.1`);
    truncateSync(log);
  } catch (error) {
    // Deleted by hand, or no room for a copy: then the log itself must not take more.
    if (error.code === "ENOSPC") truncateSync(log);
    else if (error.code !== "ENOENT") throw error;
  }
}

/** A JSON log line as its message and the error's first line; any other line as it is. */
function readable(line) {
  let text = line;
  try {
    const { msg, err } = JSON.parse(line);
    if (msg) text = [msg, err?.message].filter(Boolean).join(": ");
  } catch {
    // not JSON: Node.js' own words, or a line of ours for people
  }
  return text.length > 300 ? `${text.slice(0, 300)} ...` : text;
}

/** The kernel ends the program when we die without the chance to do it (kill -9). */
function dieWithUs() {
  const setpriv = ["setpriv", "--pdeathsig", "TERM"];
  return spawnSync(setpriv[0], [...setpriv.slice(1), "true"]).status === 0 ? setpriv : [];
}

/** Of one process for ever: a pid alone is given out again. */
function findStartTime(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return fields[0] === "Z" ? undefined : fields[19];
  } catch {
    return undefined; // no such process
  }
}

/**
 * Makes STATE_DIR, or takes one that is there and is for nothing else. vm/state-dir.ts has the same rules; what is
 * written there before the sidecar runs would hide from it what the folder was.
 * @throws Problem
 */
export function makeStateDir(path) {
  refuseWorkTree(path);
  refuseForeignFolder(path);
  mkdirSync(path, { recursive: true, mode: 0o700 });
  if ((statSync(path).mode & 0o077) !== 0) chmodSync(path, 0o700);
}

/**
 * In a git work tree, agents of that repository would keep copies of STATE_DIR.
 * @throws Problem
 */
export function refuseWorkTree(path) {
  for (let at = realOf(path); ; at = dirname(at)) {
    if (existsSync(join(at, ".git"))) {
      throw new Problem(
        `STATE_DIR: ${path} is in the git work tree ${at}; choose a folder outside of every work tree, such as /var/lib/threadmux`,
      );
    }
    if (dirname(at) === at) return;
  }
}

function realOf(path) {
  if (existsSync(path)) return realpathSync(path);
  return dirname(path) === path ? path : join(realOf(dirname(path)), basename(path));
}

/** Where a checkout's state is kept if STATE_DIR does not say: outside of it, since it is a git work tree. */
export function defaultStateDir(root) {
  const states = process.env.XDG_STATE_HOME || join(process.env.HOME || homedir(), ".local", "state");
  const real = realpathSync(root);
  const mark = createHash("sha256").update(real).digest("hex").slice(0, 8);
  return join(states, "threadmux", `${basename(real).slice(0, 20)}-${mark}`);
}

/** A sentence about the state that was kept in the checkout before a work tree was refused, if it is still there. */
export function oldStateOf(root, stateDir) {
  const old = join(root, ".threadmux");
  if (!existsSync(join(old, "threadmux.db")) || realOf(old) === realOf(stateDir)) return undefined;
  return `${old} holds the state of an older version and is not used; its threads may still run. To take them up or end them, move it out of the checkout and set STATE_DIR to where it is, else remove it`;
}

/** @throws Problem where STATE_DIR is there and for something else */
export function refuseForeignFolder(path) {
  if (!existsSync(path)) return;
  const refuse = (what) =>
    new Problem(`STATE_DIR: ${path} ${what}; choose one of its own, such as ${join(path, "threadmux")}`);
  const { mode, uid } = statSync(path);
  if ((mode & 0o1000) !== 0) throw refuse("is a shared folder");
  if (uid !== process.getuid()) throw refuse(`belongs to another user (id ${uid})`);
  if ((mode & 0o077) === 0) return;
  const names = readdirSync(path);
  const isOurs = ["threadmux.db", "token", "relay-token"].some((name) => names.includes(name));
  if (names.length > 0 && !isOurs) throw refuse("is open to others and holds other things");
}

/** The scripts/run that `file` tells of, if it is alive. */
export function findRunning(file) {
  try {
    const running = JSON.parse(readFileSync(file, "utf8"));
    return findStartTime(running.pid) === running.startTime ? running : undefined;
  } catch {
    return undefined; // no file, or one that was cut off while it was written
  }
}

/** @returns what takes the file away again. @throws Problem where another one is alive. */
export function holdRun(file, facts) {
  const content = JSON.stringify({ pid: process.pid, startTime: findStartTime(process.pid), ...facts });
  for (;;) {
    try {
      writeFileSync(file, content, { flag: "wx", mode: 0o600 });
      return () => rmSync(file, { force: true });
    } catch (error) {
      if (error.code !== "EEXIST") throw error;
      refuseSecond(file);
      rmSync(file, { force: true });
    }
  }
}

export function refuseSecond(file) {
  const running = findRunning(file);
  if (running) {
    throw new Problem(
      `already running on this STATE_DIR, as process ${running.pid}; end it with Ctrl-C where it runs, or with scripts/run --stop`,
    );
  }
}

/** @throws Problem where nothing can listen there. */
export async function refuseTakenPort(host, port, variable) {
  try {
    await listenOnce(host, port);
  } catch (error) {
    if (error.code !== "EADDRINUSE") {
      throw new Problem(`can't listen on ${host} port ${port} (${variable}): ${error.message}`);
    }
    throw new Problem(
      `port ${port} is taken; stop what uses it, or choose another: ${variable}=${port + 100} scripts/run`,
    );
  }
}

/** What is set already wins. It holds tokens: shared/private-file.ts says the same for what is compiled. */
export function loadDotEnv() {
  if (!existsSync(".env")) return;
  const { mode, uid } = statSync(".env");
  if ((mode & (uid === process.getuid() ? 0o077 : 0o007)) !== 0) {
    try {
      chmodSync(".env", mode & 0o700);
    } catch (error) {
      const sentence = `.env holds secrets and others may read it; run: chmod 600 .env (${error.message})`;
      process.stderr.write(`threadmux: ${sentence}\n`);
      process.exit(2);
    }
  }
  process.loadEnvFile(".env");
}

/** Whether a sidecar answers there. */
export async function isHealthy(url) {
  try {
    return (await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(2_000) })).ok;
  } catch {
    return false; // not listening yet
  }
}

/** The port that was got; 0 asks for a free one. */
export function listenOnce(host, port) {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(port, host, () => {
      const got = server.address().port;
      server.close(() => resolve(got));
    });
  });
}
