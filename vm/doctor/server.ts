/** Looks at the sidecar itself: whether it runs, is well and takes the token; or whether it could be started. */
import { existsSync } from "node:fs";
import { createServer } from "node:net";
import { SidecarClient } from "../../shared/client.ts";
import { Fault, type Finding, fault, type Look, note, ok } from "../../shared/doctor.ts";
import { AppError } from "../../shared/errors.ts";
import { localUrl } from "../../shared/local-url.ts";
import type { HealthReply } from "../../shared/machine-api.ts";
import { readPrivateFile } from "../../shared/private-file.ts";
import { threads } from "../../shared/protocol/threads.ts";
import { StrangeAnswer } from "../../shared/strange-answer.ts";
import { VERSION } from "../../shared/version.ts";
import { statePaths, type VmConfig } from "../config.ts";
import { isLockHeld } from "../store/lock.ts";

const NAME = "sidecar";
const START = "npm run vm # or: threadmux service install";
const ANSWER_MS = 5_000;

export interface ServerOptions {
  config: VmConfig;
  env: Record<string, string>;
}

export function serverLooks({ config, env }: ServerOptions): Look[] {
  const url = urlOf(config, env);
  return [{ name: NAME, mend: START, run: () => lookAtServer(config, url) }];
}

/** What the sidecar that runs says of itself, asked once; undefined if none answers. */
export function askRunning(
  config: VmConfig,
  env: Record<string, string>,
): () => Promise<HealthReply | undefined> {
  const client = new SidecarClient({ url: urlOf(config, env), token: "", timeoutMs: ANSWER_MS });
  let asked: Promise<HealthReply | undefined> | undefined;
  return () => {
    asked ??= client.getHealth().catch(() => undefined); // the look at the sidecar says why
    return asked;
  };
}

function urlOf(config: VmConfig, env: Record<string, string>): string {
  return env["VM_URL"] ?? localUrl(config);
}

async function lookAtServer(config: VmConfig, url: string): Promise<Finding[]> {
  const paths = statePaths(config.stateDir);
  const token = config.token ?? (existsSync(paths.token) ? readPrivateFile(paths.token).trim() : "");
  const client = new SidecarClient({ url, token, timeoutMs: ANSWER_MS });
  const health = await client.getHealth().catch((error: unknown) => {
    if (error instanceof AppError && error.cause instanceof StrangeAnswer)
      throw new Fault(error.message, "set VM_PORT to a port that nothing else uses");
    return undefined;
  });
  if (!health) return [await lookAtPlace(config, url)];
  const findings = [...faultsOf(health, url)];
  const refusal = await client.call(threads.list, {}).then(
    () => undefined,
    (error: unknown) => error,
  );
  if (refusal instanceof AppError && refusal.code === "unauthorized") {
    const says = `the sidecar at ${url} refuses this token: it runs with another VM_TOKEN or STATE_DIR`;
    findings.push(fault(NAME, says, "set VM_TOKEN or STATE_DIR as the sidecar that runs has them"));
  } else if (refusal !== undefined) throw refusal;
  return findings.length > 0 ? findings : [ok(NAME, `runs at ${url}, version ${health.version}`)];
}

function* faultsOf({ tmux, disk, version }: HealthReply, url: string): Generator<Finding> {
  if (!tmux.up)
    yield fault(NAME, `its tmux does not answer since ${tmux.downForSeconds} s`, "threadmux service logs");
  if (!disk.ok) yield fault(NAME, "its disk is full", "df -h");
  if (version !== VERSION) {
    const says = `the one at ${url} is of version ${version}, this is ${VERSION}`;
    yield note(NAME, says, "restart it");
  }
}

/** None answers: whether one could be started. */
async function lookAtPlace({ stateDir, host, port }: VmConfig, url: string): Promise<Finding> {
  const { lock } = statePaths(stateDir);
  if (existsSync(lock) && isLockHeld(lock)) {
    const says = `one runs on ${stateDir}, but none answers at ${url}`;
    return fault(NAME, says, "set VM_PORT or VM_URL as the sidecar that runs has them, or restart it");
  }
  const problem = await findPortProblem(host, port);
  if (problem === undefined) return note(NAME, `none runs at ${url}`, START);
  if (problem.code !== "EADDRINUSE" && problem.code !== "EADDRNOTAVAIL" && problem.code !== "EACCES")
    throw problem;
  const says = `it can't listen at ${host} port ${port} (${problem.code})`;
  const isTaken = problem.code === "EADDRINUSE";
  return fault(
    NAME,
    says,
    isTaken ? `ss -ltnp 'sport = :${port}' # or set another VM_PORT` : "set VM_HOST and VM_PORT to others",
  );
}

function findPortProblem(host: string, port: number): Promise<NodeJS.ErrnoException | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", resolve);
    server.listen(port, host, () => server.close(() => resolve(undefined)));
  });
}
