/** Where the sidecar is and what it is shown: flags, then the environment, `.env`, the settings of a service. */
import { existsSync, readFileSync, realpathSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { parseEnv } from "node:util";
import * as z from "zod";
import { AppError, errorText } from "../shared/errors.ts";
import { makePrivate, readPrivateFile } from "../shared/private-file.ts";
import { DIST, findServiceSettings } from "./service/places.ts";

const MIN_TOKEN_CHARACTERS = 32;
const STATE_DIR = "/data/threadmux";
/** In a checkout: where `scripts/run` keeps its state. */
const STATE_DIR_FILE = ".state-dir";
/** In the state folder while `scripts/run` is at work on it. */
const RUN_FILE = "run.json";

const runSchema = z.object({ vmUrl: z.string(), sidecar: z.record(z.string(), z.string()) });

export interface Flags {
  url?: string;
  tokenFile?: string;
  stateDir?: string;
}

export interface Settings {
  url: string;
  stateDir: string;
  /** @throws AppError `invalid_request` where there is none, saying where it was looked for. */
  getToken: () => string;
  /**
   * The environment that sidecar and relay would have if they were started from here. If scripts/run is at work on the
   * state folder, what it gave its sidecar goes before this shell's. The working directory's `.env` counts only in
   * threadmux's own folder: the environment names programs to run and where tokens are sent.
   * @param file of settings, which goes before all. @throws AppError `invalid_request` if it can't be read
   */
  getProgramEnv: (file?: string) => Record<string, string | undefined>;
  /** Whether there is a `.env` that {@link getProgramEnv} leaves out. */
  hasStrangeDotEnv: boolean;
}

/**
 * @param ownDir threadmux's own folder, which nobody else fills
 * @throws AppError `invalid_request` naming the flag or variable that is wrong
 */
export function parseSettings(
  flags: Flags,
  env: Record<string, string | undefined>,
  workingDir: string,
  ownDir = dirname(DIST),
): Settings {
  const dotEnv = readDotEnv(join(workingDir, ".env"));
  const service = findServiceSettings(env);
  const serviceEnv = service === undefined ? {} : readDotEnv(service);
  const find = (name: string) =>
    env[name]?.trim() || dotEnv[name]?.trim() || serviceEnv[name]?.trim() || undefined;
  const port = find("VM_PORT");
  const url = flags.url ?? find("VM_URL") ?? `http://127.0.0.1:${port && port !== "0" ? port : 3001}`;
  checkUrl(flags.url === undefined ? "VM_URL" : "--url", url);
  const stateDir = resolve(workingDir, flags.stateDir ?? find("STATE_DIR") ?? defaultStateDir(workingDir));
  const isFromDotEnv = flags.url === undefined && !env["VM_URL"]?.trim() && dotEnv["VM_URL"] !== undefined;

  const getToken = () => {
    if (flags.tokenFile !== undefined) return readToken("--token-file", resolve(workingDir, flags.tokenFile));
    // A folder that somebody else filled (a cloned repository) must not make us send our token away.
    if (isFromDotEnv && !isThisMachine(url) && !(dotEnv["VM_TOKEN"] && !env["VM_TOKEN"]?.trim())) {
      throw problem(
        `VM_URL: ${url} comes from .env and is another machine, so the token must come from there too (VM_TOKEN) or from --token-file`,
      );
    }
    if (!env["VM_TOKEN"]?.trim() && dotEnv["VM_TOKEN"]?.trim()) tighten(join(workingDir, ".env"));
    const token = find("VM_TOKEN");
    if (token !== undefined) return checkToken("VM_TOKEN", token);
    const file = join(stateDir, "token");
    if (existsSync(file)) return readToken(`STATE_DIR, ${file}`, file);
    throw problem(
      `VM_TOKEN: missing; set it, or STATE_DIR to the sidecar's state folder (there is no ${file}), or use --token-file`,
    );
  };

  const isOwnDir = existsSync(workingDir) && realpathSync(workingDir) === ownDir;
  const getProgramEnv = (file?: string) => {
    const stateOfShell = flags.stateDir ?? (env["STATE_DIR"]?.trim() || serviceEnv["STATE_DIR"]?.trim());
    const dir = isOwnDir ? stateDir : resolve(workingDir, stateOfShell || STATE_DIR);
    const chosen = file === undefined ? readRunSettings(dir) : readSettingsFile(resolve(workingDir, file));
    const isCheckout = isOwnDir && !flags.stateDir && !find("STATE_DIR") && stateDir !== STATE_DIR;
    return {
      // As scripts/run has it, whose state folder this is then.
      ...(isCheckout && { REPOS_DIR: join(workingDir, "workspace") }),
      ...serviceEnv,
      ...(isOwnDir && dotEnv),
      ...env,
      STATE_DIR: dir,
      ...chosen,
      ...(flags.url !== undefined && { VM_URL: flags.url }),
      ...(flags.stateDir !== undefined && { STATE_DIR: dir }),
    };
  };
  const hasStrangeDotEnv = !isOwnDir && Object.keys(dotEnv).length > 0;
  return { url, stateDir, getToken, getProgramEnv, hasStrangeDotEnv };
}

function readSettingsFile(file: string): Record<string, string | undefined> {
  try {
    return parseEnv(readFileSync(file, "utf8"));
  } catch (cause) {
    throw problem(`--settings: can't be read: ${errorText(cause)}`, cause);
  }
}

function readRunSettings(stateDir: string): Record<string, string> {
  try {
    const run = runSchema.parse(JSON.parse(readFileSync(join(stateDir, RUN_FILE), "utf8")));
    return { ...run.sidecar, VM_URL: run.vmUrl };
  } catch {
    return {}; // it does not run, or the file is cut off or not ours to read
  }
}

function readDotEnv(file: string): Record<string, string | undefined> {
  return existsSync(file) ? parseEnv(readFileSync(file, "utf8")) : {};
}

function defaultStateDir(workingDir: string): string {
  const file = join(workingDir, STATE_DIR_FILE);
  return !existsSync(STATE_DIR) && existsSync(file) ? readFileSync(file, "utf8").trim() : STATE_DIR;
}

function checkUrl(name: string, url: string): void {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (!parsed || !/^https?:$/.test(parsed.protocol)) {
    throw problem(`${name}: must be the sidecar's address, with http:// or https://`);
  }
  if (parsed.username || parsed.password || parsed.search || parsed.hash) {
    throw problem(`${name}: must be an address alone, without user, password or query`);
  }
}

function isThisMachine(url: string): boolean {
  return /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(new URL(url).hostname);
}

function readToken(name: string, file: string): string {
  let text: string;
  try {
    text = readPrivateFile(file);
  } catch (cause) {
    throw problem(`${name}: can't be read: ${errorText(cause)}`, cause);
  }
  return checkToken(name, text.trim());
}

/** Takes from others what lets them read the token in it. @throws AppError if that is not ours to do. */
function tighten(dotEnv: string): void {
  try {
    makePrivate(dotEnv);
  } catch (cause) {
    throw problem(`VM_TOKEN: ${errorText(cause)}`, cause);
  }
}

function checkToken(name: string, token: string): string {
  if (token.length >= MIN_TOKEN_CHARACTERS && /^[!-~]+$/.test(token)) return token;
  throw problem(
    `${name}: must be the sidecar's token, at least ${MIN_TOKEN_CHARACTERS} printable characters`,
  );
}

function problem(message: string, cause?: unknown): AppError {
  return new AppError("invalid_request", message, { cause });
}
