/** What every command works with. */
import type { ReadStream } from "node:tty";
import { SidecarClient } from "../shared/client.ts";
import { Output } from "./output.ts";
import { type Flags, parseSettings, type Settings } from "./settings.ts";

export interface Streams {
  stdin: ReadStream;
  stdout: NodeJS.WriteStream;
  stderr: NodeJS.WriteStream;
  /** What it exits with if standard output breaks from here on: what was found out counts though nobody reads it. */
  exitCode?: NodeJS.Process["exitCode"];
}

/** The options that every command has. */
export interface CommonOptions extends Flags {
  json?: boolean;
}

export interface Context {
  env: Record<string, string | undefined>;
  streams: Streams;
  out: Output;
  err: Output;
  isJson: boolean;
  settings: Settings;
  /** The directory that the person's shell is in. */
  workingDir: string;
  /** @throws AppError `invalid_request` where there is no token. */
  client: () => SidecarClient;
  /** Without a token, for what needs none. */
  openClient: () => SidecarClient;
  /** One line on standard error for a person; nothing where a program reads. */
  note: (text: string) => Promise<void>;
}

export function createContext(
  options: CommonOptions,
  env: Record<string, string | undefined>,
  streams: Streams,
  workingDir: string,
): Context {
  const settings = parseSettings(options, env, workingDir);
  const isJson = options.json === true;
  const err = new Output(streams.stderr, env);
  return {
    env,
    streams,
    out: new Output(streams.stdout, env),
    err,
    isJson,
    settings,
    workingDir,
    client: () => new SidecarClient({ url: settings.url, token: settings.getToken() }),
    openClient: () => new SidecarClient({ url: settings.url, token: "" }),
    note: async (text) => {
      if (!isJson) await err.line(text);
    },
  };
}
