/** What the command line does for each kind of thread in its own way. No command looks at a thread's type. */
import type { Thread } from "../../shared/api.ts";
import type { SidecarClient } from "../../shared/client.ts";
import { AppError } from "../../shared/errors.ts";
import type { Context } from "../context.ts";

/** What can be waited for: an agent's turn, a thread's end, an ask. */
export const WAITS = ["turn", "end", "ask"] as const;
export type Wait = (typeof WAITS)[number];

export interface TailHow {
  /** Infinite for all. */
  lines: number;
  follow: boolean;
  /** Without escape sequences. */
  isText: boolean;
}

/** What `send` was given. */
export interface Said {
  /** Undefined: standard input. Empty if there are keys, or files alone. */
  text: string | undefined;
  /** By tmux's names. */
  keys: readonly string[];
  stdin: NodeJS.ReadableStream;
  enter: boolean;
  /** Undefined if nobody said whether it is one. */
  paste?: boolean;
  nextTurn?: boolean;
  /** Paths. */
  attach: readonly string[];
}

/** Waits for something of a thread. @returns the exit code of the command. */
type Waiting = (context: Context, client: SidecarClient, thread: Thread) => Promise<number>;

export interface CliKind {
  /** What `new` calls the thing that such a thread is made with. */
  readonly asks: string;
  /** What `wait` waits for if it is not told. */
  readonly wait: Wait;
  readonly waits: Readonly<Partial<Record<Wait, Waiting>>>;
  /** @returns how many inputs went in. @throws AppError that names the option which such a thread does not take */
  send(client: SidecarClient, threadId: string, said: Said): Promise<number>;
  /** @returns the exit code of the command. @throws AppError */
  tail(context: Context, client: SidecarClient, thread: Thread, how: TailHow): Promise<number>;
}

/** Ends a wait. For a program; a person sees that the command ends. */
export async function say(
  { out, streams, isJson }: Context,
  threadId: string,
  how: Record<string, unknown>,
  exitCode: number,
): Promise<number> {
  streams.exitCode = exitCode;
  if (isJson) await out.json({ threadId, ...how });
  return exitCode;
}

/** What is said on standard error while the sidecar does not answer. */
export function onSilence({ note }: Pick<Context, "note">): () => Promise<void> {
  return () => note("threadmux: the sidecar does not answer; waiting for it");
}

/** @throws AppError `invalid_request` */
export function refuseOption(option: string, threadId: string, why: string): never {
  throw new AppError("invalid_request", `${option}: ${threadId} ${why}`);
}
