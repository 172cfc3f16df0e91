/** Looks at what lies on the disk: the folders, the tokens, the database. */
import { existsSync, readFileSync, statSync } from "node:fs";
import { Fault, type Look } from "../../shared/doctor.ts";
import { statePaths } from "../config.ts";
import { checkReposDir, checkStateDir, findTokenProblem, SAME_TOKENS } from "../state-dir.ts";
import { checkDatabase } from "../store/database.ts";

export interface StateOptions {
  stateDir: string;
  reposDir: string;
  env: Record<string, string>;
}

export function stateLooks({ stateDir, reposDir, env }: StateOptions): Look[] {
  const paths = statePaths(stateDir);
  return [
    {
      name: "state folder",
      mend: "set STATE_DIR to a folder of its own, such as /var/lib/threadmux",
      run: () => {
        refuseOthers(stateDir);
        checkStateDir(stateDir);
        return existsSync(stateDir) ? stateDir : `${stateDir}, which the sidecar makes`;
      },
    },
    {
      name: "repositories",
      mend: "set REPOS_DIR to a folder that you can write, such as ~/repos",
      run: () => {
        checkReposDir(reposDir, stateDir);
        return existsSync(reposDir) ? reposDir : `${reposDir}, which the sidecar makes`;
      },
    },
    {
      name: "tokens",
      mend: `rm ${paths.token}`,
      run: () => {
        const own = env["VM_TOKEN"] ?? readToken(paths.token);
        const relay = env["RELAY_TOKEN"] ?? readToken(paths.relayToken);
        if (own !== undefined && own === relay)
          throw new Fault(`RELAY_TOKEN: ${SAME_TOKENS}`, `openssl rand -hex 32 # for RELAY_TOKEN`);
        return own === undefined ? "the sidecar makes them" : "there, and nobody else can read them";
      },
    },
    {
      name: "database",
      mend: `threadmux restore FILE # or: mv ${paths.database} ${paths.database}.damaged`,
      run: () => {
        if (!existsSync(paths.database)) return "the sidecar makes it";
        refuseOthers(stateDir); // its companions would become ours
        checkDatabase(paths.database);
        return "whole, and of this version";
      },
    },
  ];
}

/** Undefined if it is not there. It is not shown, and its mode is not changed. @throws Fault */
function readToken(file: string): string | undefined {
  const stat = statSync(file, { throwIfNoEntry: false });
  if (!stat) return undefined;
  if ((stat.mode & 0o077) !== 0)
    throw new Fault(`${file} holds a secret, and others may read it`, `chmod 600 ${file}`);
  const token = readFileSync(file, "utf8").trim();
  const problem = findTokenProblem(file, token);
  if (problem) throw problem;
  return token;
}

/** Root may look everywhere, and what it makes there is in the way of whom it belongs to. */
function refuseOthers(path: string): void {
  if (!existsSync(path)) return;
  const { uid } = statSync(path);
  if (uid === process.getuid?.()) return;
  const says = `STATE_DIR: ${path} belongs to another user (id ${uid})`;
  throw new Fault(says, `sudo -u '#${uid}' threadmux doctor # or set STATE_DIR to a folder of your own`);
}
