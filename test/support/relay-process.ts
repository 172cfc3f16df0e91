/** A relay as a process of its own, so that it can be killed at any moment. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import type { RelayConfig } from "../../relay/config.ts";
import { RUN_VARIABLE, runId } from "./folders.ts";
import { isAlive, signal } from "./processes.ts";
import { until } from "./wait.ts";
import { watchWarnings } from "./warned.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
/** Native parts, and what discord.js uses only where it is installed. */
const EXTERNAL = ["@resvg/resvg-js", "zlib-sync", "bufferutil", "utf-8-validate"];
const READY = '"relay is ready"';
const KEPT_LINES = 200;

export interface RelayProgram {
  file: string;
  remove: () => void;
}

/**
 * The relay in one file: it starts twice as fast, which counts where it is started hundreds of times.
 * @param options.isQuick for tests that are not about pace: the relay's waits take a tenth, as `startEverything` has it
 */
export async function bundleRelay({ isQuick = false } = {}): Promise<RelayProgram> {
  // Below node_modules, where the packages that stay outside are found.
  const folder = join(ROOT, "node_modules/.cache", `threadmux-${runId()}-${process.pid}`);
  mkdirSync(folder, { recursive: true });
  const file = join(folder, "relay.mjs");
  await build({
    entryPoints: [join(ROOT, isQuick ? "test/support/quick-relay-main.ts" : "relay/main.ts")],
    outfile: file,
    bundle: true,
    platform: "node",
    format: "esm",
    external: EXTERNAL,
    // What is CommonJS inside asks for `require`.
    banner: { js: 'import{createRequire}from"node:module";const require=createRequire(import.meta.url);' },
    logLevel: "error",
  });
  return { file, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

export interface RelayProcess {
  pid: () => number;
  /** Its last log lines. */
  lines: string[];
  start: () => void;
  isReady: () => boolean;
  untilReady: () => Promise<void>;
  /** SIGKILL; returns when the process is gone. */
  kill9: () => Promise<void>;
  stop: () => Promise<void>;
}

export function makeRelayProcess(
  { file }: Pick<RelayProgram, "file">,
  config: RelayConfig,
  cwd: string,
): RelayProcess {
  const env = {
    PATH: process.env["PATH"] ?? "",
    [RUN_VARIABLE]: runId(),
    VM_URL: config.vmUrl,
    RELAY_TOKEN: config.relayToken,
    DISCORD_TOKEN: config.discordToken,
    DISCORD_API_URL: config.discordApiUrl,
    DISCORD_CHANNEL_ID: config.channelId,
    ALLOWED_USER_IDS: [...config.allowedUserIds].join(","),
    CHANNEL_MODE: config.channelMode,
    CHANNEL_DIR: config.channelDir,
    POLL_INTERVAL_MS: String(config.pollIntervalMs),
    LOG_LEVEL: "info",
  };
  let child: ChildProcess | undefined;
  let isReady = false;
  let isWanted = false;
  const lines: string[] = [];
  const end = async (name: NodeJS.Signals) => {
    isWanted = false;
    const pid = child?.pid;
    if (pid === undefined) return;
    signal(pid, name);
    await until(`the relay to end by ${name}`, () => !isAlive(pid), { timeoutMs: 20_000 });
    child = undefined;
  };
  return {
    pid: () => child?.pid ?? 0,
    lines,
    start: () => {
      isReady = false;
      isWanted = true;
      const started = spawn(process.execPath, [...nodeFlags(), file], {
        env,
        cwd,
        stdio: ["ignore", "ignore", "pipe"],
      });
      child = started;
      started.once("exit", (code) => {
        if (isWanted && child === started) lines.push(`the relay ended by itself with ${code}`);
      });
      watchWarnings("the relay", started.stderr);
      createInterface({ input: started.stderr }).on("line", (line) => {
        lines.push(line);
        lines.splice(0, lines.length - KEPT_LINES);
        if (process.env["THREADMUX_TEST_LOG"] === "relay") console.log(line);
        if (line.includes(READY) && child === started) isReady = true;
      });
    },
    isReady: () => isReady,
    untilReady: async () => {
      await until("the relay to be ready", () => isReady, { timeoutMs: 30_000 }).catch((cause: unknown) => {
        throw new Error(`the relay is not ready; it said:\n${lines.slice(-20).join("\n")}`, { cause });
      });
    },
    kill9: () => end("SIGKILL"),
    stop: () => end("SIGTERM"),
  };
}

/** As `npm run relay` starts it. */
function nodeFlags(): string[] {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
    scripts: Record<string, string>;
  };
  return (scripts["relay"] ?? "").split(" ").filter((word) => word.startsWith("--"));
}
