/** Which sandbox this machine can make for agents: it is tried once, by the very command that engines are started with. */
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, realpathSync, rmSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { findProgram } from "../../shared/find-program.ts";
import type { SandboxHealth } from "../../shared/machine-api.ts";
import { type Box, boxCommand, prepareBox } from "../../shared/sandbox/box.ts";
import { formsFor, type Sandbox, type SandboxForm, type SandboxMode } from "../../shared/sandbox/modes.ts";
import { layMounts, type Mount } from "../../shared/sandbox/mounts.ts";
import { withoutNetwork } from "../../shared/sandbox/no-network.ts";
import { findSecretPlaces } from "../../shared/sandbox/secrets.ts";

const PROBE_MS = 10_000;
/** The file of the state folder that a probe looks for. */
const PROBE = "sandbox-probe";
const MAX_WORDS = 200;

const IS_HIDDEN = '[ -d "$1" ] && [ ! -e "$2" ]';
/** And nothing else can be written. */
const IS_KEPT = `${IS_HIDDEN} && [ ! -w "$1" ] && [ ! -w / ] && [ ! -w "\${2%/*}" ]`;

/** A command can be kept from the network. */
const IS_ALONE = ((one) => [one.program, ...one.args].join(" "))(
  withoutNetwork("bwrap", "/bin/sh", ["-c", "'[ $(grep -c : /proc/net/dev) = 1 ]'"]),
);

export interface FoundSandbox {
  /** What runners are told; undefined if there is none, or none is wanted. */
  sandbox: Sandbox | undefined;
  health: SandboxHealth;
}

/** The settings of the mode `workspace`. */
export interface WorkspaceSettings {
  /** A real path. */
  reposDir: string;
  /** What a person has named. */
  reads?: readonly string[];
  writes?: readonly string[];
  network?: Sandbox["network"];
}

/** @param env of programs in threads */
export async function findSandbox(
  mode: SandboxMode,
  stateDir: string,
  env: Record<string, string>,
  { reposDir, reads = [], writes = [], network = "on" }: WorkspaceSettings = { reposDir: "" },
): Promise<FoundSandbox> {
  if (mode === "off") return { sandbox: undefined, health: { mode, form: null, problem: null } };
  const problems: string[] = [];
  for (const form of formsFor(process.getuid?.() ?? 0, mode)) {
    const sandbox: Sandbox = {
      ...{ mode, form, reposDir, reads: [...reads], writes: [...writes] },
      ...(mode === "workspace" && { network }),
    };
    const problem = await tryForm(sandbox, realpathSync(stateDir), env);
    if (problem === undefined) return { sandbox, health: { mode, form, problem: null } };
    problems.push(`${form}: ${problem}`);
  }
  return { sandbox: undefined, health: { mode, form: null, problem: problems.join("; ") } };
}

/** @returns why it can't be made so */
async function tryForm(
  { mode, form, reposDir, network }: Sandbox,
  stateDir: string,
  env: Record<string, string>,
): Promise<string | undefined> {
  const program: SandboxForm = form;
  if (findProgram(program, env["PATH"] ?? "") === undefined) return "it is not installed";
  const place = join(stateDir, PROBE);
  const [seen, unseen] = [join(place, "seen"), join(place, "unseen")];
  try {
    for (const path of [seen, unseen]) mkdirSync(path, { recursive: true, mode: 0o700 });
    const box: Box = {
      form,
      uid: process.getuid?.() ?? 0,
      gid: process.getgid?.() ?? 0,
      stateDir,
      room: join(place, "box"),
      shown: [{ path: seen, isFolder: true }],
      hidden: mode === "state" ? [] : findSecretPlaces(env["HOME"] ?? "/"),
      dir: "/",
      ...(mode === "workspace" && {
        only: { mounts: probeMounts([stateDir, env["HOME"] ?? "/", reposDir], seen), folders: [] },
      }),
    };
    prepareBox(box);
    // It must work, and it must hide.
    const isSeenSo = mode === "workspace" ? IS_KEPT : IS_HIDDEN;
    const isSo = ["-c", network === "off" ? `${isSeenSo} && ${IS_ALONE}` : isSeenSo, "sh", seen, unseen];
    const command = boxCommand(box, "/bin/sh", isSo);
    await promisify(execFile)(command.program, command.args, {
      env,
      cwd: "/",
      timeout: PROBE_MS,
      killSignal: "SIGKILL",
    });
    return undefined;
  } catch (error) {
    return problemOf(error);
  } finally {
    if (existsSync(place)) rmSync(place, { recursive: true, force: true });
  }
}

/** @throws Error in words for a person if one of them is all of the disk */
function probeMounts(empty: readonly string[], seen: string): Mount[] {
  const paths = empty.filter((path) => path !== "" && existsSync(path)).map((path) => realpathSync(path));
  if (paths.includes("/")) throw new Error("HOME and REPOS_DIR must not be /");
  const base = paths.map((path): Mount => ({ path, kind: "empty", isFolder: true }));
  return layMounts(base, [{ path: seen, kind: "read", isFolder: true }], []);
}

function problemOf(error: unknown): string {
  const { stderr, message } = error as { stderr?: string; message: string };
  const words = (stderr ?? "").trim().split("\n").at(-1) ?? "";
  return (words === "" ? (message.split("\n")[0] ?? "") : words).slice(0, MAX_WORDS);
}
