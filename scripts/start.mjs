// What scripts/run does once everything is built: starts the programs, waits, watches, ends them.
//   check   refuses a second start, taken ports and folders of others; needs nothing that is installed or built
//   start   runs until a signal or until one of the programs ends; --adopt or --discard are for the sidecar
//   stop    ends the threads, their tmux server, and the scripts/run that is alive
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseEnv } from "node:util";
import {
  defaultStateDir,
  findRunning,
  holdRun,
  isHealthy,
  isOnPath,
  listenOnce,
  loadDotEnv,
  makeStateDir,
  oldStateOf,
  Problem,
  Program,
  refuseForeignFolder,
  refuseSecond,
  refuseTakenPort,
  refuseWorkTree,
} from "./processes.mjs";
import { makeWorkspace } from "./workspace.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
process.chdir(root);
loadDotEnv();

const read = (name, otherwise) => process.env[name]?.trim() || otherwise;
const isLocal = read("DISCORD_TOKEN") === undefined;
const stateDir = resolve(read("STATE_DIR") ?? defaultStateDir(root));
/** Says where the state is if STATE_DIR does not: the command line looks there, and who looks for the logs. */
const stateDirFile = join(root, ".state-dir");
const reposDir = resolve(read("REPOS_DIR", "workspace"));
const vmHost = read("VM_HOST", "127.0.0.1");
const runFile = join(stateDir, "run.json");
/** Without an agent on this machine: the built-in one, so that `/agent` shows something. */
const isDemo = read("AGENT_PROGRAM", read("AGENT_ENGINE", isOnPath("claude") ? "" : "demo")) === "demo";
/** Settings that the sidecar gets from here, whatever else is set. `threadmux doctor` reads them in run.json. */
const ownSettings = { REPOS_DIR: reposDir, ...(isDemo && { AGENT_PROGRAM: "demo" }) };
const DEMO_WORDS =
  "a scripted demo, no model is behind it (for a real agent install Claude Code: README, The coding agent)";
const LOCAL_HOST = "127.0.0.1";

// A reader of our output that goes away (`scripts/run | head`) is no reason to end.
for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});
const say = (text = "") => process.stdout.write(`${text}\n`);

const actions = { check, start, stop };
try {
  await actions[process.argv[2]]();
} catch (error) {
  process.stderr.write(`threadmux: ${error instanceof Problem ? error.message : error.stack}\n`);
  process.exitCode = 1;
}

async function check() {
  refuseWorkTree(stateDir);
  refuseForeignFolder(stateDir);
  refuseSecond(runFile);
  for (const { host, port, variable } of wantedPorts()) {
    if (port !== 0) await refuseTakenPort(host, port, variable);
  }
}

function wantedPorts() {
  const wanted = [{ host: vmHost, variable: "VM_PORT", port: readPort("VM_PORT", 3001) }];
  if (isLocal)
    wanted.push({
      host: LOCAL_HOST,
      variable: "LOCAL_DISCORD_PORT",
      port: readPort("LOCAL_DISCORD_PORT", 3002),
    });
  return wanted;
}

function readPort(name, otherwise) {
  const port = Number(read(name, otherwise));
  if (Number.isInteger(port) && port >= 0 && port <= 65_535) return port;
  throw new Problem(`${name}: must be a whole number from 0 to 65535`);
}

async function start() {
  makeStateDir(stateDir);
  refuseSecond(runFile);
  if (read("STATE_DIR") === undefined) writeFileSync(stateDirFile, `${stateDir}\n`);
  await check();
  const [vmPort, localPort] = await Promise.all(
    wantedPorts().map(async ({ host, port }) => port || (await listenOnce(host, 0))),
  );
  const vmUrl = addressOf(vmPort);
  const release = holdRun(runFile, { vmUrl, sidecar: { PATH: process.env.PATH, ...ownSettings } });
  if (read("REPOS_DIR") === undefined) makeWorkspace(reposDir);

  const programs = [];
  const ending = waitForEnd();
  let exitCode = 0;
  const launch = (name, script, file, env, { flags, args } = {}) => {
    if (ending.why) throw new Problem("it was told to end while it started");
    const program = new Program({
      name,
      script: join(root, "dist", script),
      flags,
      args,
      env,
      cwd: root,
      log: join(stateDir, file),
      onEnd: ending.programEnded,
    });
    programs.push(program);
    return program;
  };
  try {
    const page = await Promise.race([startAll(launch, { vmUrl, vmPort, localPort }), ending.promise]);
    if (!ending.why) {
      announce(vmUrl, page);
      await ending.promise;
    }
    if (ending.why instanceof Program) {
      const { name, how } = ending.why;
      throw new Problem(`${name} has ended (${how}), so the rest is ended too.\n${ending.why.lastLines()}`);
    }
    say(`\n${ending.why}: ending ...`);
  } catch (error) {
    process.stderr.write(`threadmux: ${error instanceof Problem ? error.message : error.stack}\n`);
    exitCode = 1;
  }
  ending.onAgain(() => {
    for (const program of programs) program.kill();
  });
  for (const program of programs.reverse()) await program.end();
  release();
  tellWhatGoesOn();
  process.exit(exitCode);
}

/** Each program is ready before the next one starts. @returns the address of the page, if there is one */
async function startAll(launch, { vmUrl, vmPort, localPort }) {
  say("Starting the sidecar ...");
  const base = { ...process.env, STATE_DIR: stateDir, VM_PORT: String(vmPort) };
  // The sidecar and its threads have no use for the bot's token.
  const sidecarEnv = { ...base, DISCORD_TOKEN: "", ...ownSettings };
  const sidecar = launch("the sidecar", "vm/main.js", "sidecar.log", sidecarEnv, {
    args: process.argv.slice(3),
  });
  await sidecar.ready(() => isHealthy(vmUrl), 30_000);
  let page;
  let discord = {};
  if (isLocal) {
    say("Starting the local Discord ...");
    ({ page, discord } = await startLocalDiscord(launch, base, localPort));
  }
  say(isLocal ? "Starting the relay ..." : "Starting the relay and logging in to Discord ...");
  const env = {
    ...base,
    ...discord,
    VM_URL: vmUrl,
    // Its line that it is ready is waited for, and only goes to a file.
    LOG_LEVEL: ["trace", "debug"].includes(read("LOG_LEVEL")) ? read("LOG_LEVEL") : "info",
  };
  const relay = launch("the relay", "relay/main.js", "relay.log", env, { flags: relayFlags() });
  await relay.ready(() => /relay is ready/i.test(relay.output), 60_000);
  return page;
}

/** Resolves at the first signal or at the end of a program, whichever comes first; `why` says which it was. */
function waitForEnd() {
  let end;
  const promise = new Promise((resolve) => {
    end = resolve;
  });
  let again = () => {};
  const ending = {
    why: undefined,
    promise,
    onAgain: (callback) => {
      again = callback;
    },
    programEnded: (program) => first(program),
  };
  const first = (why) => {
    if (ending.why) return false;
    ending.why = why;
    end();
    return true;
  };
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"]) {
    process.on(signal, () => {
      if (!first(signal)) again();
    });
  }
  return ending;
}

/** Those of `npm run relay`: within a small heap Node collects garbage before it has taken three times its need. */
function relayFlags() {
  const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  return scripts.relay.split(" ").filter((word) => word.startsWith("--"));
}

async function startLocalDiscord(launch, base, port) {
  const envFile = join(stateDir, "local-discord.env");
  rmSync(envFile, { force: true });
  const program = launch("the local Discord", "local-discord/main.js", "local-discord.log", {
    ...base,
    LOCAL_DISCORD_PORT: String(port),
  });
  let discord = {};
  let page;
  await program.ready(() => {
    if (existsSync(envFile)) discord = parseEnv(readFileSync(envFile, "utf8"));
    page = /^Local Discord: (\S+)$/m.exec(program.output)?.[1];
    const names = ["DISCORD_API_URL", "DISCORD_TOKEN", "DISCORD_CHANNEL_ID", "ALLOWED_USER_IDS"];
    return page && names.every((name) => discord[name]);
  }, 30_000);
  return { page, discord };
}

/** Where the sidecar is reached from this machine. */
function addressOf(port) {
  const host = { "0.0.0.0": "127.0.0.1", "::": "::1" }[vmHost] ?? vmHost;
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

function announce(vmUrl, page) {
  say();
  say("threadmux is running.");
  say(`  threads run below  ${reposDir}`);
  say(`  sidecar            ${vmUrl}`);
  say(`  logs               ${stateDir}/*.log`);
  say(`  /agent talks to    ${isDemo ? DEMO_WORDS : read("AGENT_PROGRAM", "claude")}`);
  say("Ctrl-C ends it; threads go on in tmux until scripts/run --stop.");
  tellOldState();
  say();
  say(page ? `Open ${page}` : "Type /terminal in the Discord channel.");
}

function tmux(...args) {
  const { status, stdout } = spawnSync("tmux", ["-S", join(stateDir, "tmux.sock"), ...args], {
    encoding: "utf8",
    timeout: 5_000,
  });
  return status === 0 ? stdout.trim() : undefined;
}

/** The names of the threads' sessions; undefined where no tmux server runs. */
function findSessions() {
  return tmux("list-sessions", "-F", "#{session_name}")
    ?.split("\n")
    .filter((name) => name.startsWith("thread-"));
}

function tellWhatGoesOn() {
  const sessions = findSessions();
  if (sessions?.length === 0) tmux("kill-server"); // nothing in it to keep
  if (!sessions?.length) return say("threadmux has ended; no thread was open.");
  const threads = sessions.length === 1 ? "1 thread goes" : `${sessions.length} threads go`;
  say(
    `threadmux has ended; ${threads} on in tmux. scripts/run takes them up again, scripts/run --stop ends them.`,
  );
}

function tellOldState() {
  const words = oldStateOf(root, stateDir);
  if (words) process.stderr.write(`threadmux: ${words}\n`);
}

async function stop() {
  refuseForeignFolder(stateDir); // what is there says where our token is sent
  tellOldState();
  const running = findRunning(runFile);
  let ended = 0;
  try {
    if (running) ended = await endThreads(running.vmUrl);
    else if (findSessions()?.length > 0) ended = await endThreadsWithSidecarOfOurOwn();
  } catch (error) {
    process.exitCode = 1;
    const reason = error instanceof Problem ? error.message : error.stack;
    const left = "what left its terminal (setsid, nohup) may go on, the rest is ended now";
    process.stderr.write(`threadmux: the sidecar could not end the threads: ${reason}\nthreadmux: ${left}\n`);
  }
  if (running && findRunning(runFile)) {
    process.kill(running.pid, "SIGTERM");
    await until(() => !findRunning(runFile), 30_000, `process ${running.pid} does not end`);
  }
  // A server that is just ending says nothing.
  const server = tmux("display-message", "-p", "#{pid}") || undefined;
  if (server !== undefined) {
    tmux("kill-server");
    await until(
      () => !existsSync(`/proc/${server}`),
      10_000,
      `the tmux server, process ${server}, does not end`,
    );
  }
  if (!running && server === undefined && ended === 0) return say(`Nothing runs in ${stateDir}.`);
  say(`Ended ${ended === 1 ? "1 thread" : `${ended} threads`} and the tmux server of ${stateDir}.`);
}

/** Only the sidecar knows every process of a thread, also those that left its session. */
async function endThreadsWithSidecarOfOurOwn() {
  if (!existsSync("dist/vm/main.js")) throw new Problem("it is not built");
  const port = await listenOnce(LOCAL_HOST, 0);
  const sidecar = new Program({
    name: "the sidecar",
    script: join(root, "dist/vm/main.js"),
    args: ["--adopt"], // else it would not know the threads that a lost database had
    env: { ...process.env, STATE_DIR: stateDir, ...ownSettings, VM_HOST: LOCAL_HOST, VM_PORT: String(port) },
    cwd: root,
    log: join(stateDir, "sidecar.log"),
  });
  try {
    const url = `http://${LOCAL_HOST}:${port}`;
    await sidecar.ready(() => isHealthy(url), 15_000);
    return await endThreads(url);
  } finally {
    await sidecar.end();
  }
}

async function endThreads(url) {
  const token = read("VM_TOKEN") ?? readFileSync(join(stateDir, "token"), "utf8").trim();
  const call = async (method, path) => {
    const reply = await fetch(url + path, { method, headers: { authorization: `Bearer ${token}` } });
    const body = await reply.json();
    if (!reply.ok) throw new Problem(`the sidecar does not end the threads: ${body.error}`);
    return body;
  };
  const { threads } = await call("GET", "/threads");
  await Promise.all(threads.map(({ threadId }) => call("POST", `/thread/${threadId}/kill`)));
  return threads.length;
}

async function until(isTrue, timeoutMs, problem) {
  const deadline = Date.now() + timeoutMs;
  while (!isTrue()) {
    if (Date.now() > deadline) throw new Problem(`${problem}, after ${timeoutMs / 1_000} s`);
    await pause(50);
  }
}
