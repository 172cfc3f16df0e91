/** Makes sidecar and relay services of systemd, and takes them away. */
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  rmdirSync,
  rmSync,
} from "node:fs";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { parseEnv } from "node:util";
import { SidecarClient } from "../../shared/client.ts";
import { AppError } from "../../shared/errors.ts";
import { pause } from "../../shared/lifecycle.ts";
import { localUrl } from "../../shared/local-url.ts";
import { writeWhole } from "../../shared/whole-file.ts";
import { DIST, type Places } from "./places.ts";
import type { Systemd } from "./systemd.ts";
import { endingUnit, RELAY, relayUnit, SIDECAR, settingsText, sidecarUnit, type UnitPlan } from "./units.ts";

const READY_MS = 30_000;
/** The status with which the sidecar ends if its settings can't be used; it is not restarted then. */
const REFUSED = "2";
const DISCORD = ["DISCORD_TOKEN", "DISCORD_CHANNEL_ID", "ALLOWED_USER_IDS"];
/** `systemd.resource-control(5)`, DelegateSubgroup. */
const FIRST_WITH_SUBGROUPS = 254;
const UNITS = [SIDECAR, RELAY] as const;
/** A line of the sidecar's unit: lingering goes with the service that brought it. */
const LINGER = "# Lingering was switched on with this service.";

export type Settings = Record<string, string>;

export interface Installed {
  units: string[];
  settings: string;
  stateDir: string;
  url: string;
  /** `refused`: the sidecar has ended, since its settings can't be used. */
  isReady: boolean | "refused";
  hasRelay: boolean;
  /** Whether a user's service runs without a login. */
  isLingering: boolean;
}

export interface InstallOptions {
  places: Places;
  systemd: Systemd;
  /** New settings; undefined keeps those that are there. */
  given: Settings | undefined;
  /** PATH of the person who installs; the services get it if the settings have none. */
  path: string;
  only?: "sidecar" | "relay";
  readyMs?: number;
}

/** @throws AppError in words for a person; what was written by then is taken by the next try */
export async function install(options: InstallOptions): Promise<Installed> {
  const { places, systemd, only } = options;
  const settings = settingsFor(options);
  const { STATE_DIR: stateDir = places.stateDir, REPOS_DIR: reposDir = places.reposDir } = settings;
  const plan: UnitPlan = {
    scope: places.scope,
    node: realpathSync(process.execPath),
    dist: DIST,
    envFile: places.envFile,
    user: places.person.name,
    stateDir,
    hasSubgroups: (await systemd.version()) >= FIRST_WITH_SUBGROUPS,
  };
  refuseUnreadable(plan, places);
  const hasDiscord = DISCORD.every((name) => settings[name] !== undefined);
  if (only === "relay" && !hasDiscord)
    throw new AppError(
      "invalid_request",
      `the relay's settings are missing: ${DISCORD.join(", ")}; set them in a file, and name it by --settings`,
    );
  const wanted = UNITS.filter((unit) =>
    unit === RELAY ? hasDiscord && only !== "sidecar" : only !== "relay",
  );

  mkdirSync(dirname(places.envFile), { recursive: true });
  writeWhole(places.envFile, settingsText(settings), { isDurable: true });
  if (wanted.includes(SIDECAR)) {
    makeOwnFolder(stateDir, places, 0o700);
    makeOwnFolder(reposDir, places, 0o755);
  }
  const isLingering = await linger(places, systemd);
  mkdirSync(places.units, { recursive: true });
  for (const unit of UNITS) {
    const path = join(places.units, unit);
    if (!wanted.includes(unit)) await remove(systemd, path, unit);
    else writeUnit(path, unit === RELAY ? relayUnit(plan) : sidecarUnit(plan) + isLingering.line);
  }
  await systemd.ctl("daemon-reload");
  const url = urlOf(settings);
  let isReady: Installed["isReady"] = true;
  for (const unit of wanted) {
    await systemd.ctl("enable", unit);
    await systemd.ctl("restart", unit);
    // The relay finds its token in the state folder once the sidecar has begun.
    if (unit === SIDECAR) isReady = await untilReady(systemd, url, options.readyMs ?? READY_MS);
  }
  return {
    ...{ units: wanted, settings: places.envFile, stateDir, url, isReady },
    ...{ hasRelay: wanted.includes(RELAY), isLingering: isLingering.isOn },
  };
}

/** Those that are there, or those that are given; with what a service must be told since it has no shell. */
function settingsFor({ places, given, path }: InstallOptions): Settings {
  const before = given ?? readSettings(places.envFile) ?? {};
  const settings: Settings = {
    STATE_DIR: places.stateDir,
    REPOS_DIR: places.reposDir,
    PATH: path,
    ...before,
  };
  for (const name of ["STATE_DIR", "REPOS_DIR"])
    if (!isAbsolute(settings[name] ?? ""))
      throw new AppError(
        "invalid_request",
        `${name}: must be a whole path, a service has no directory of its own`,
      );
  return settings;
}

export function readSettings(file: string): Settings | undefined {
  if (!existsSync(file)) return undefined;
  const values = Object.entries(parseEnv(readFileSync(file, "utf8")));
  return Object.fromEntries(values.flatMap(([name, value]) => (value?.trim() ? [[name, value]] : [])));
}

/** Root's home is shut to everybody else: such a service would never start. */
function refuseUnreadable({ node, dist }: UnitPlan, { scope, person }: Places): void {
  if (scope === "user" || person.uid === 0) return;
  const hidden = [node, dist].find((path) => path.startsWith("/root/"));
  if (hidden !== undefined)
    throw new AppError(
      "invalid_request",
      `${hidden} is in root's home, where ${person.name} can read nothing: put it elsewhere, such as /opt`,
    );
}

function makeOwnFolder(path: string, { scope, person }: Places, mode: number): void {
  if (existsSync(path)) return;
  mkdirSync(dirname(path), { recursive: true }); // others may have theirs there
  mkdirSync(path, { mode });
  if (scope === "system") chownSync(path, person.uid, person.gid);
}

async function linger(
  { scope, person, units }: Places,
  systemd: Systemd,
): Promise<{ isOn: boolean; line: string }> {
  if (scope === "system") return { isOn: true, line: "" };
  const unit = join(units, SIDECAR);
  const isOurs = existsSync(unit) && readFileSync(unit, "utf8").includes(LINGER);
  if (systemd.isLingering(person.name)) return { isOn: true, line: isOurs ? `${LINGER}\n` : "" };
  const isOn = await systemd.setLinger(person.name, true);
  return { isOn, line: isOn ? `${LINGER}\n` : "" };
}

function writeUnit(path: string, text: string): void {
  writeWhole(path, text, { isDurable: true });
  chmodSync(path, 0o644); // it holds no secret, and systemd warns of others
}

/** Where the service's sidecar is reached. */
export function urlOf(settings: Settings): string {
  const { VM_URL: url, VM_HOST: host = "127.0.0.1", VM_PORT: port = "3001" } = settings;
  return url ?? localUrl({ host, port });
}

async function untilReady(systemd: Systemd, url: string, timeoutMs: number): Promise<Installed["isReady"]> {
  const client = new SidecarClient({ url, token: "", timeoutMs: 2_000 });
  for (const end = Date.now() + timeoutMs; Date.now() < end; await pause(250)) {
    const isWell = await client.getHealth().then(
      ({ ok }) => ok,
      () => false, // not yet
    );
    if (isWell) return true;
    const { ActiveState, ExecMainStatus } = await systemd.show(SIDECAR, ["ActiveState", "ExecMainStatus"]);
    if (ActiveState === "failed" && ExecMainStatus === REFUSED) return "refused";
  }
  return false;
}

export interface Removed {
  /** The files that were there. */
  removed: string[];
  stateDir: string | null;
}

/** Ends the services with all that runs below them, and removes what {@link install} made, but the state folder. */
export async function uninstall(places: Places, systemd: Systemd): Promise<Removed> {
  const settings = readSettings(places.envFile);
  const removed: string[] = [];
  const sidecar = join(places.units, SIDECAR);
  const before = existsSync(sidecar) ? readFileSync(sidecar, "utf8") : "";
  for (const unit of [...UNITS].reverse()) {
    const path = join(places.units, unit);
    if (!existsSync(path)) continue;
    if (unit === SIDECAR) {
      writeUnit(path, endingUnit(before));
      await systemd.ctl("daemon-reload");
    }
    await remove(systemd, path, unit);
    removed.push(path);
  }
  await systemd.ctl("daemon-reload");
  if (existsSync(places.envFile)) {
    rmSync(places.envFile);
    removed.push(places.envFile);
    removeIfEmpty(dirname(places.envFile));
  }
  if (before.includes(LINGER)) await systemd.setLinger(places.person.name, false);
  return { removed, stateDir: removed.length === 0 ? null : (settings?.["STATE_DIR"] ?? places.stateDir) };
}

async function remove(systemd: Systemd, path: string, unit: string): Promise<void> {
  if (!existsSync(path)) return;
  await systemd.ctl("disable", "--now", unit);
  rmSync(path);
}

function removeIfEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // Somebody keeps something there.
  }
}

/** @throws AppError `invalid_request` if it can't be read */
export function readGiven(file: string, workingDir: string): Settings {
  const settings = readSettings(resolve(workingDir, file));
  if (!settings) throw new AppError("invalid_request", `--settings: ${file} is not there`);
  // Paths in it are meant from where it was written for.
  for (const name of ["STATE_DIR", "REPOS_DIR"]) {
    const path = settings[name];
    if (path !== undefined) settings[name] = resolve(workingDir, path);
  }
  return settings;
}
