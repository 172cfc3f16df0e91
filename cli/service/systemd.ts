/** systemd, as far as the service needs it: systemctl, loginctl, journalctl. */
import { execFile, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { AppError, errorText } from "../../shared/errors.ts";
import type { Scope } from "./units.ts";

const TIMEOUT_MS = 90_000;

type Env = Record<string, string | undefined>;

export class Systemd {
  readonly scope: Scope;
  readonly #env: Env;

  constructor(scope: Scope, env: Env) {
    this.scope = scope;
    this.#env = env;
  }

  /** @throws AppError `unsupported` with what to do, if there is none to speak with */
  async check(): Promise<void> {
    const state = await this.#run("systemctl", [...this.#flags(), "is-system-running"]).then(
      ({ stdout }) => stdout.trim(),
      // Its exit code says only whether everything is well.
      (error: { stdout?: string; code?: unknown }) =>
        error.code === "ENOENT" ? "" : (error.stdout ?? "").trim(),
    );
    if (state !== "" && state !== "offline" && state !== "unknown") return;
    const instead =
      "start `npm run vm` and `npm run relay` by what this machine has for that (docs/deploy.md)";
    if (this.scope === "system")
      throw new AppError("unsupported", `systemd does not run on this machine: ${instead}`);
    throw new AppError(
      "unsupported",
      `this login has no systemd of its own: log in as this user by ssh (su and sudo give none), or use sudo threadmux service install; without systemd, ${instead}`,
    );
  }

  /** Its number, such as 252; 0 if it does not say. */
  async version(): Promise<number> {
    return Number(/^systemd (\d+)/.exec(await this.ctl("--version"))?.[1] ?? 0);
  }

  /** @returns standard output. @throws AppError `internal` with systemctl's words */
  async ctl(...args: readonly string[]): Promise<string> {
    try {
      return (await this.#run("systemctl", [...this.#flags(), ...args])).stdout;
    } catch (cause) {
      const { stderr = "" } = cause as { stderr?: string };
      const words = stderr.trim().split("\n")[0] || errorText(cause);
      throw new AppError("internal", `systemctl ${args.join(" ")}: ${words}`, { cause });
    }
  }

  /** Properties of a unit; those of one that is not there say so. */
  async show(unit: string, names: readonly string[]): Promise<Record<string, string>> {
    const text = await this.ctl("show", `--property=${names.join(",")}`, unit);
    return Object.fromEntries(
      text
        .split("\n")
        .filter((line) => line.includes("="))
        .map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]),
    );
  }

  /** Whether a user's services run without a login of theirs. */
  isLingering(user: string): boolean {
    return existsSync(join("/var/lib/systemd/linger", user));
  }

  /** @returns whether it is so now */
  async setLinger(user: string, isOn: boolean): Promise<boolean> {
    return this.#run("loginctl", [isOn ? "enable-linger" : "disable-linger", user]).then(
      () => true,
      () => false, // it takes a right that not every machine gives
    );
  }

  /** Shows logs until their end, or until somebody ends it. @returns journalctl's exit code */
  async followLogs(units: readonly string[], args: readonly string[]): Promise<number> {
    const user = this.scope === "user";
    const wanted = units.flatMap((unit) => [user ? "--user-unit" : "--unit", unit]);
    const child = spawn("journalctl", [...(user ? ["--user"] : []), "--output=cat", ...wanted, ...args], {
      env: this.#env,
      stdio: ["ignore", "inherit", "inherit"],
    });
    return new Promise((resolve, reject) => {
      child.once("error", (cause) =>
        reject(new AppError("unsupported", `journalctl can't be run: ${errorText(cause)}`, { cause })),
      );
      child.once("close", (code) => resolve(code ?? 0));
    });
  }

  #flags(): string[] {
    return this.scope === "user" ? ["--user"] : [];
  }

  #run(program: string, args: readonly string[]) {
    return promisify(execFile)(program, args, { env: { ...this.#env, LC_ALL: "C" }, timeout: TIMEOUT_MS });
  }
}
