/**
 * The command line against a sidecar: as a process of its own, made of its real sources put into one file, or, where
 * only its words matter, within this process, which takes milliseconds.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { PassThrough, Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { type IPty, spawn as spawnPty } from "node-pty";
import type { Streams } from "../../cli/context.ts";
import type { CliKinds } from "../../cli/kinds/kinds.ts";
import { runCli } from "../../cli/program.ts";
import { TerminalWriter } from "../../vm/tmux/terminal-writer.ts";
import { RUN_VARIABLE, runId } from "./folders.ts";
import type { TestSidecar } from "./sidecar.ts";
import { until } from "./wait.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

export interface CliOptions {
  env?: Record<string, string>;
  /** Standard input; without it, there is none. */
  input?: string | Uint8Array;
  cwd?: string;
}

export interface CliResult {
  code: number | null;
  stdout: string;
  stderr: string;
}

export interface CliTerminal {
  pty: IPty;
  /** Everything that it has shown. */
  shown: () => string;
  untilShown: (text: string) => Promise<void>;
  /** Its exit code. */
  end: () => Promise<number>;
}

export interface Cli {
  /** The program's file. */
  file: string;
  env: Record<string, string>;
  run: (args: readonly string[], options?: CliOptions) => Promise<CliResult>;
  /** As {@link Cli.run}, within this process. */
  call: (args: readonly string[], options?: CliOptions) => Promise<CliResult>;
  /** As {@link Cli.call}: what it prints, if it does what it should and says nothing on standard error. */
  ok: (...args: string[]) => Promise<string>;
  /** As {@link Cli.ok}, by a process of its own. */
  done: (...args: string[]) => Promise<string>;
  /** As {@link Cli.ok}: its one line of JSON. */
  json: (...args: string[]) => Promise<unknown>;
  /** As {@link Cli.run}, for a test that speaks with it while it runs. */
  start: (args: readonly string[], options?: CliOptions) => ChildProcess;
  /** In a terminal of 80×24. */
  terminal: (args: readonly string[], env?: Record<string, string>, cwd?: string) => CliTerminal;
}

export async function buildCli(
  sidecar: Pick<TestSidecar, "folders" | "stateDir" | "token" | "url">,
  kinds?: CliKinds,
): Promise<Cli> {
  const folder = sidecar.folders.path;
  const file = join(folder, "threadmux.mjs");
  await build({
    entryPoints: [join(ROOT, "cli/main.ts")],
    outfile: file,
    bundle: true,
    platform: "node",
    format: "esm",
    banner: {
      js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);',
    },
    logLevel: "error",
  });
  const env = {
    PATH: process.env["PATH"] ?? "",
    HOME: sidecar.folders.home,
    TERM: "xterm-256color",
    VM_URL: sidecar.url,
    VM_TOKEN: sidecar.token,
    STATE_DIR: sidecar.stateDir,
    [RUN_VARIABLE]: runId(),
  };
  const cwd = sidecar.folders.home;
  const start: Cli["start"] = (args, options = {}) =>
    spawn(process.execPath, [file, ...args], {
      env: { ...env, ...options.env },
      cwd: options.cwd ?? cwd,
      stdio: [options.input === undefined ? "ignore" : "pipe", "pipe", "pipe"],
    });
  const run: Cli["run"] = async (args, options = {}) => {
    const child = start(args, options);
    child.stdin?.end(options.input);
    if (!child.stdout || !child.stderr) throw new Error("no pipes");
    const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
    const [stdout, stderr, code] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
    return { code, stdout, stderr };
  };
  const call: Cli["call"] = async (args, options = {}) => {
    const stdout = new PassThrough();
    const stderr = new PassThrough();
    const { input = "" } = options;
    const streams = {
      stdin: Readable.from([typeof input === "string" ? Buffer.from(input) : input]),
      stdout,
      stderr,
    };
    const said = Promise.all([text(stdout), text(stderr)]);
    const code = await runCli(
      args,
      { ...env, ...options.env },
      streams as unknown as Streams,
      options.cwd ?? cwd,
      kinds,
    );
    stdout.end();
    stderr.end();
    const [out, err] = await said;
    return { code, stdout: out, stderr: err };
  };
  const terminal: Cli["terminal"] = (args, more = {}, place = cwd) => {
    const pty = spawnPty(process.execPath, [file, ...args], {
      name: "xterm-256color",
      cols: 80,
      rows: 24,
      cwd: place,
      env: { ...env, ...more },
    });
    new TerminalWriter(pty);
    let shown = "";
    let code: number | undefined;
    pty.onData((data) => {
      shown += data;
    });
    pty.onExit(({ exitCode }) => {
      code = exitCode;
    });
    return {
      pty,
      shown: () => shown,
      untilShown: async (wanted) => {
        await until(
          `${JSON.stringify(wanted)} in the terminal`,
          () => shown.includes(wanted) || undefined,
        ).catch((cause: unknown) => {
          throw new Error(`not shown: ${JSON.stringify(wanted)}; shown was ${JSON.stringify(shown)}`, {
            cause,
          });
        });
      },
      end: async () => {
        await until("the command to end", () => code !== undefined);
        return code ?? -1;
      },
    };
  };
  const ok: Cli["ok"] = async (...args) => outputOf(args, await call(args));
  const done: Cli["done"] = async (...args) => outputOf(args, await run(args));
  const json: Cli["json"] = async (...args) => {
    const stdout = await ok("--json", ...args);
    if (stdout.indexOf("\n") !== stdout.length - 1) throw new Error(`not one line: ${stdout}`);
    return JSON.parse(stdout);
  };
  return { file, env, run, call, ok, done, json, start, terminal };
}

function outputOf(args: readonly string[], { code, stdout, stderr }: CliResult): string {
  if (code !== 0 || stderr !== "") throw new Error(`${args.join(" ")}: exit code ${code}, said ${stderr}`);
  return stdout;
}
