/**
 * What a runner needs of an engine. The data's way:
 *
 *     inbox.jsonl ──lines──▶ events ─┐                       ┌─▶ pane, transcript.md, live.json
 *                                    ├─▶ transcript ─▶ fold ─┤
 *     engine.<g>.jsonl ──lines──▶ session.hear(line) ────────┘
 *                                                            └─▶ decide ─▶ lines for the engine's standard input
 *
 * A session makes lines for the engine's input and translates lines of its output. The runner owns the process, the
 * files and the clock, and knows nothing of the engine's protocol. So what the runner knows is always
 * f(inbox, the engine's output), and a runner that is started again goes on from any byte.
 */

import type { ThreadConfig } from "../shared/agent/config.ts";
import type { EventBody } from "../shared/agent/events.ts";
import type { Live, RunnerState } from "../shared/agent/files.ts";
import type { OpenAsk, RecordedAnswer, ThreadFold } from "../shared/agent/fold-types.ts";
import type { Line } from "../shared/agent/jsonl.ts";
import type { OrderedOp } from "../shared/agent/ops.ts";
import type { Block, ToolKind, Usage } from "../shared/agent/values.ts";
import type { Brought } from "./trust/brought.ts";

export type Launch = NonNullable<RunnerState["launch"]>;

/** One engine: what is known of it before a process runs, and a session with each process. */
export interface Engine {
  readonly name: string;
  /** Why the program can't be used, if it can't: missing, too old. */
  check(config: ThreadConfig, env: Env): Promise<EngineProblem | undefined>;
  /** Finds all that it would load of the thread's directory; undefined if that is nothing. */
  lookAround(config: ThreadConfig, env: Env): Promise<Brought | undefined>;
  /**
   * Whether the engine still has the conversation, and which of these deliveries are in it. One that lacks the line
   * `lastAt`, which the engine had saved, is not the conversation any more.
   */
  look(
    sessionId: string,
    wanted: { deliveryIds: readonly string[]; lastAt: string | undefined },
    env: Env,
  ): Promise<Conversation>;
  /** Program, arguments and environment of the next process. */
  plan(request: LaunchRequest): LaunchPlan;
  /** A session with a process that starts now, or that an earlier runner started. */
  begin(request: SessionRequest): EngineSession;
}

export interface SessionRequest {
  launch: Launch;
  env: Env;
  /** The thread's folder. */
  folder: string;
  /** This runner starts the process; if not, it takes it over. */
  isOurs: boolean;
  config: ThreadConfig;
  /** A line of the process's output. */
  textAt: (byte: number, bytes: number) => string;
}

/**
 * The port: what the runner says to one process of an engine, as lines for its standard input, and what the process
 * says, as events. A line that is made here is sent at once.
 */
export interface EngineSession {
  /** The state of the process, by all that it has printed so far. */
  readonly state: EngineState;
  /** It has read all that earlier runners sent, or takes nothing twice. */
  readonly hasReadAll: boolean;
  /**
   * The lines that a process is told first. One that an earlier runner started is told those that it has not replied to,
   * and is asked whether it has read all that it was sent.
   */
  start(): string[];
  /** A user message. The engine's word that it has `deliveryId`, or begins with it, says that it was taken. */
  deliver(deliveryId: string, content: readonly ContentPart[], marks: DeliveryMarks): string;
  answer(request: OpenRequest, answer: Answer): string;
  control(control: EngineControl): string;
  /**
   * Tells gates which call an open request is about. It is undefined if it can't be told, or if the request is one of
   * several for one call. An engine that is held to gates has it.
   */
  callOf?(request: OpenRequest): HeldCall | undefined;
  /**
   * The events of a line that the process has printed.
   * @returns `forged` if the line says that the process took what no runner sent it
   * @throws Error if the line can't be read
   */
  hear(line: Line, context: TranslateContext): EventBody[] | "forged";
  /** The ids of open requests that may not be answered yet: the engine could forget the calls that they are about. */
  unready(nowMs: number): string[];
  close(): void;
}

/** The answer to an open request. */
export type Answer =
  /** A person's answer to an ask, or none. */
  | RecordedAnswer
  | Refusal
  /** The call goes on. After a round of calls the model may be told something. */
  | { reply: "go_on"; news?: string | undefined }
  /** The call is not to run, and the model is told why. */
  | { reply: "stop"; reason: string }
  /** It is of a kind that we don't know. */
  | { reply: "unknown" };

export type Env = Record<string, string>;

/** The part of a session's state that the runner reads. It is plain JSON. */
export interface EngineState {
  generation: number;
  /** The reply to what was sent first has come. */
  isOpen: boolean;
  /** Requests of the engine whose answer it has not echoed, by their id. */
  requests: Record<string, OpenRequest>;
  /** The last deliveries that it says it holds, taken or not: sent again, it might take them twice. */
  received: readonly string[];
  /** A turn, a compaction: it is at work, or has said that it begins. */
  isBusy: boolean;
  /**
   * It was to take a cut-off turn up, and has said that there is none: the turn had come to its end before. No longer true
   * once it has begun a turn.
   */
  takesUpNothing?: boolean;
  /** It does not take rules back while it runs: with the next start it has none of them. */
  keepsRules?: true;
  /** The request whose answer waited for the cost so far, which has come: `EngineControl` of op `cost`. */
  costFor?: string;
  /** What the running call of the model has used, as far as that is told. */
  chat?: { stepId: string; usage?: Usage } | null;
  live: Pick<Live, "text" | "retry">;
}

export interface OpenRequest {
  requestId: string;
  kind: "ask" | "hook" | "unknown";
  toolCallId: string;
  /** It is about a call that is to begin: it is answered when the engine has saved the call. */
  isBeforeCall: boolean;
  /** All calls of a round have ended, and the model is not called again before the answer. */
  isAfterCalls?: boolean;
  /** The conversation is shorter now, and the model is not called before the answer. */
  isAfterCompaction?: boolean;
  /** The turn would end: stopped, the model goes on with the reason. */
  isBeforeEnd?: boolean;
  /** Not the thread's own model is at work, but one that it has called. */
  isSubagent?: boolean;
  /** The call that an ask, or a hook around a call, is about. */
  call?: { side: "before" | "after" | "ask"; kind: ToolKind; path?: string };
  /** Where its line is in the engine's output. */
  byte: number;
  bytes: number;
}

/** A call that waits, whole; or the turn's end (`End`) with the text that it would end with. */
export interface HeldCall {
  name: string;
  input: unknown;
  /** The directory in which the engine would run the call, if that directory can change. */
  cwd?: string | undefined;
  /** The files that the call writes, as far as the engine tells them. */
  paths?: readonly string[] | undefined;
}

export interface DeliveryMarks {
  /** Neither commands nor paths in it count. */
  isPlain: boolean;
  /** No person wrote it: the model is told that it is not the user's word. */
  isForeign: boolean;
  /** A turn runs, as far as the runner knows. */
  isMidTurn: boolean;
}

/** An ask that ended without a person's answer, while the engine still waits. */
export interface Refusal {
  refusal: string;
  requestId: string;
  /** The ask stays open for a person while the model goes on. */
  isAside?: true;
}

export type ContentPart =
  | { type: "text"; text: string }
  /** `uri`: where it lies in the thread's folder. */
  | { type: "image"; mimeType: string; base64: string; uri?: string };

export type EngineControl =
  | OrderedOp<"interrupt" | "mode" | "model" | "compact" | "end_task">
  /** From here on it asks about these again, whatever was granted before; the list replaces the one before. */
  | {
      op: "rules";
      seq: number;
      ask: readonly string[] /** It asks about all that it does. */;
      isMarked?: true;
    }
  /** Asks what the conversation has cost by now; `id` is the request that waits for it. */
  | { op: "cost"; id: string }
  | { op: "end" };

export interface TranslateContext {
  /** The transcript so far. */
  fold: ThreadFold;
  launch: Launch;
  config: ThreadConfig;
  /** When the line was read. */
  nowMs: number;
}

export interface LaunchRequest {
  config: ThreadConfig;
  launch: Launch;
  fold: ThreadFold;
  env: Env;
  /** The thread's folder. */
  folder: string;
}

export interface LaunchPlan {
  program: string;
  args: string[];
  env: Env;
  /** Files by their names and their texts. The runner writes them into the thread's folder before the program starts. */
  files?: Readonly<Record<string, string>>;
  /** Names of other files of the thread's folder that the sandbox shows, if they are there. */
  reads?: readonly string[];
  /** The sandbox `workspace` hides the person's home. The program gets these places of it all the same. */
  needs?: Needs;
}

/** Absolute paths that the sandbox shows although it hides what is around them. It leaves out those that are not there. */
export interface Needs {
  /**
   * Programs that the engine's program starts itself, as they are looked up on `PATH`. The sandbox shows the folder
   * that each is installed in. No request may name them.
   */
  programs?: readonly string[];
  reads: readonly string[];
  /** A folder that is not there is made. */
  writes: readonly string[];
  /** Files that it gets a copy of at each start. */
  copies: readonly string[];
}

export interface EngineProblem {
  code: "engine_missing" | "engine_too_old" | "no_directory";
  message: string;
}

export interface Conversation {
  exists: boolean;
  delivered: ReadonlySet<string>;
  /** What the engine will say that the conversation has cost so far. */
  costUsd?: number;
  /** How long its own record of the conversation is, if it is known; else the transcript tells. */
  bytes?: number;
}

/** What a waiting call needs to be named to the model after a restart. */
export type CutOffCall = Pick<OpenAsk, "toolName" | "input"> | Pick<RecordedAnswer, "toolName" | "input">;

export type { Block };
