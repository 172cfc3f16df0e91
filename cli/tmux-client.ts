/**
 * A person's terminal at a thread's tmux session. Our server has no prefix key and no key tables (a key that tmux acts
 * on is a key that the program never gets), so its own client can't be left. It runs behind a pty of ours: what is
 * typed passes through here, and the detach keys end the client alone. The server's settings stay as they are.
 */
import { execFile } from "node:child_process";
import { lstatSync } from "node:fs";
import { join } from "node:path";
import type { ReadStream } from "node:tty";
import { promisify } from "node:util";
import { AppError, errorText } from "../shared/errors.ts";
import { DetachKeys } from "./detach-keys.ts";

const run = promisify(execFile);
/** The server may hang: then the client is ended without it. */
const SERVER_TIMEOUT_MS = 2_000;
/** The main screen, a visible cursor, no mouse, no pasting brackets, no colours: where the client could not. */
const TERMINAL_RESET =
  "\x1b[?1049l\x1b[?25h\x1b[?1l\x1b>\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?1004l\x1b[?2004l\x1b(B\x1b[m\r\n";

export class TmuxSocket {
  readonly #args: string[];
  readonly #env: Record<string, string>;

  /** @throws AppError `unavailable` where there is no socket of this user's. */
  constructor(stateDir: string, env: Record<string, string | undefined>) {
    const socket = join(stateDir, "tmux.sock");
    const stat = lstatSync(socket, { throwIfNoEntry: false });
    const elsewhere = "attach works on the sidecar's own machine; elsewhere, use tail -f and send";
    if (!stat?.isSocket())
      throw new AppError("unavailable", `STATE_DIR: there is no ${socket}; ${elsewhere}`);
    if (stat.uid !== process.getuid?.()) {
      throw new AppError(
        "unavailable",
        `STATE_DIR: ${socket} belongs to another user, be that one to attach`,
      );
    }
    this.#args = ["-u", "-S", socket, "-f", "/dev/null"];
    // Nothing else of the person's environment is any of tmux's business, above all not TMUX and no token.
    this.#env = {
      PATH: env["PATH"] || "/usr/local/bin:/usr/bin:/bin",
      HOME: env["HOME"] || "/",
      TERM: env["TERM"] || "xterm-256color",
      LANG: "C.UTF-8",
      ...(env["COLORTERM"] ? { COLORTERM: env["COLORTERM"] } : {}),
    };
  }

  /** @throws AppError `unavailable` where tmux is missing or does not answer. */
  async hasSession(name: string): Promise<boolean> {
    try {
      await run("tmux", [...this.#args, "has-session", "-t", `=${name}:`], {
        env: this.#env,
        timeout: SERVER_TIMEOUT_MS,
        killSignal: "SIGKILL",
      });
      return true;
    } catch (error) {
      const { code, killed } = error as { code?: unknown; killed?: boolean };
      if (code === 1) return false;
      const reason =
        code === "ENOENT" ? "is not installed here" : killed ? "does not answer" : errorText(error);
      throw new AppError("unavailable", `tmux: ${reason}`, { cause: error });
    }
  }

  /**
   * Shows the session and takes what is typed until one of its ends.
   * @param until fires where the caller wants it left.
   */
  async attach(
    session: string,
    options: {
      isReadOnly: boolean;
      detachKeys: Uint8Array;
      stdin: ReadStream;
      stdout: NodeJS.WriteStream;
      until: AbortSignal;
    },
  ): Promise<"detached" | "ended"> {
    const { stdin, stdout, until } = options;
    const { spawn } = await import("node-pty"); // native, and nothing else here needs it
    const flags = options.isReadOnly ? ["-r"] : [];
    const client = spawn("tmux", [...this.#args, "attach-session", ...flags, "-t", `=${session}:`], {
      name: this.#env["TERM"] ?? "",
      cols: stdout.columns || 80,
      rows: stdout.rows || 24,
      cwd: "/",
      env: this.#env,
      encoding: null,
    });
    let isLeaving = false;
    let isCut = false;
    let cut: NodeJS.Timeout | undefined;
    const leave = () => {
      if (isLeaving) return;
      isLeaving = true;
      cut = setTimeout(() => {
        isCut = true;
        client.kill("SIGKILL");
      }, SERVER_TIMEOUT_MS);
      void this.#detach(client.pid);
    };
    const keys = new DetachKeys(options.detachKeys);
    const onTyped = (typed: Buffer) => {
      const { forward, isDetach } = keys.push(typed);
      if (forward.length > 0) client.write(Buffer.from(forward));
      if (isDetach) leave();
    };
    const onResize = () => client.resize(stdout.columns || 80, stdout.rows || 24);
    const onDrain = () => client.resume();
    const hangUp = ["SIGTERM", "SIGHUP"] as const;
    const wasRaw = stdin.isRaw;
    const ended = new Promise<void>((resolve) => client.onExit(() => resolve()));
    client.onData((data) => {
      if (!stdout.write(data)) client.pause();
    });
    try {
      stdin.setRawMode(true);
      stdin.on("data", onTyped).on("end", leave).resume();
      stdout.on("resize", onResize).on("drain", onDrain);
      for (const signal of hangUp) process.on(signal, leave);
      until.addEventListener("abort", leave);
      if (until.aborted) leave();
      await ended;
    } finally {
      clearTimeout(cut);
      until.removeEventListener("abort", leave);
      for (const signal of hangUp) process.off(signal, leave);
      stdout.off("resize", onResize).off("drain", onDrain);
      stdin.off("data", onTyped).off("end", leave).pause();
      stdin.setRawMode(wasRaw);
      if (isCut) stdout.write(TERMINAL_RESET);
    }
    return isLeaving ? "detached" : "ended";
  }

  /** Through the server, so that the client gives the terminal back as it was; only our own client, by its process. */
  async #detach(pid: number): Promise<void> {
    const tmux = async (...args: string[]) =>
      (await run("tmux", [...this.#args, ...args], { env: this.#env, timeout: SERVER_TIMEOUT_MS })).stdout;
    try {
      const clients = await tmux("list-clients", "-F", "#{client_pid} #{client_name}");
      const name = clients
        .split("\n")
        .find((line) => line.startsWith(`${pid} `))
        ?.slice(`${pid} `.length);
      if (name !== undefined) await tmux("detach-client", "-t", name);
    } catch {
      // A server that does not answer: the caller's timer ends the client.
    }
  }
}
