/** The places of a service's files, and the user that it runs as. */
import { execFile } from "node:child_process";
import { accessSync, constants, existsSync, readFileSync, statSync } from "node:fs";
import { userInfo } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { AppError } from "../../shared/errors.ts";
import { RELAY, type Scope, SIDECAR } from "./units.ts";

/** The build that this program is a part of. */
export const DIST = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "");

const SYSTEM_UNITS = "/etc/systemd/system";
const SYSTEM_SETTINGS = "/etc/threadmux/threadmux.env";

export interface Person {
  name: string;
  uid: number;
  gid: number;
  home: string;
}

export interface Places {
  scope: Scope;
  units: string;
  envFile: string;
  stateDir: string;
  reposDir: string;
  person: Person;
}

/**
 * @param runAs of a system's service; undefined keeps the user of the one that is there
 * @param units of a system
 * @throws AppError `invalid_request` if there is no such user
 */
export async function findPlaces(
  scope: Scope,
  env: Record<string, string | undefined>,
  runAs: string | undefined,
  units = SYSTEM_UNITS,
): Promise<Places> {
  if (scope === "system") {
    const name = runAs ?? userOfUnits(units) ?? env["SUDO_USER"] ?? userInfo().username;
    return {
      ...{ scope, units },
      envFile: SYSTEM_SETTINGS,
      stateDir: "/data/threadmux",
      reposDir: "/data/repos",
      person: await findPerson(name),
    };
  }
  const { username: name, uid, gid, homedir } = userInfo();
  const home = env["HOME"] ?? homedir;
  return {
    scope,
    units: join(env["XDG_CONFIG_HOME"] ?? join(home, ".config"), "systemd/user"),
    envFile: userSettingsFile({ ...env, HOME: home }),
    stateDir: join(env["XDG_STATE_HOME"] ?? join(home, ".local/state"), "threadmux-service"),
    reposDir: join(home, "repos"),
    person: { name, uid, gid, home },
  };
}

/** The settings of a service that this user may read: its own, or the machine's. */
export function findServiceSettings(env: Record<string, string | undefined>): string | undefined {
  return [userSettingsFile(env), SYSTEM_SETTINGS].find((file) => {
    try {
      accessSync(file, constants.R_OK);
      return true;
    } catch {
      return false; // none there, or not ours to read
    }
  });
}

function userSettingsFile(env: Record<string, string | undefined>): string {
  return join(env["XDG_CONFIG_HOME"] ?? join(env["HOME"] ?? "/", ".config"), "threadmux/threadmux.env");
}

/** The user of the services that are installed. */
function userOfUnits(units: string): string | undefined {
  const texts = [SIDECAR, RELAY].map((unit) => join(units, unit)).filter((path) => existsSync(path));
  return texts.map((path) => /^User=(.+)$/m.exec(readFileSync(path, "utf8"))?.[1]).find((name) => name);
}

async function findPerson(name: string): Promise<Person> {
  const person = await lookUp(name);
  if (person) return person;
  throw new AppError(
    "invalid_request",
    `--run-as: this machine has no user ${name}; make one: useradd --create-home --shell /bin/bash ${name}`,
  );
}

/** To root: whose a folder is, if it is another's. What root makes there would be in the owner's way. */
export async function findOwner(folder: string | undefined): Promise<Person | undefined> {
  if (process.getuid?.() !== 0 || folder === undefined || !existsSync(folder)) return undefined;
  const { uid } = statSync(folder);
  return uid === 0 ? undefined : lookUp(String(uid));
}

/** @param name or id */
async function lookUp(name: string): Promise<Person | undefined> {
  const { stdout } = await promisify(execFile)("getent", ["passwd", "--", name]).catch(() => ({
    stdout: "",
  }));
  const [found, , uid, gid, , home] = stdout.trim().split(":");
  if (!found || uid === undefined || gid === undefined || home === undefined) return undefined;
  return { name: found, uid: Number(uid), gid: Number(gid), home };
}
