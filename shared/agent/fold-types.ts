/** What a transcript comes to: the value of `foldEvents`. */

import type { DiscordId, ThreadId } from "../ids.ts";
import type { Source } from "../principal.ts";
import type { BlobMap } from "./bound.ts";
import type { Charges, LimitsOfChild, Use } from "./budget.ts";
import type { EventOf } from "./events.ts";
import type { Awaiting } from "./files.ts";
import type { GatedCall } from "./gate-fit.ts";
import type { GateOutcome, GatePoint } from "./gates.ts";
import type { AskedLimit, Limits } from "./limit-schema.ts";
import type { ModeChoice } from "./modes.ts";
import type { OrderedOp } from "./ops.ts";
import type { Block, Usage } from "./values.ts";

export interface ThreadFold {
  v: 3;
  /** The number of the last event; 0 if there is none. */
  seq: number;
  ts: string | null;
  threadId: string | null;
  lastEngineId: { generation: number; byte: number; n: number } | null;
  lastInboxId: { byte: number; n: number } | null;
  /** The newest process of the engine; `isUp` as far as the transcript tells. */
  engine: {
    generation: number;
    isUp: boolean;
    engine: string;
    sessionId: string;
    version: string;
    model: string;
    modeId: string;
    /** Deliveries that this process has taken. */
    takenCount: number;
    /**
     * The engine's id of the last line that it must have saved, if that is known: a conversation without it is not
     * whole. A crash may keep the last lines from being saved.
     */
    lastAt?: string;
  } | null;
  /** The newest process whose end is written down; 0 if there is none. */
  endedGeneration: number;
  /** The thread began with messages of a conversation that was held elsewhere. */
  hasInitialMessages?: true;
  /** Received, and in no delivery yet. */
  messages: WaitingMessage[];
  /** Messages of other agents; a person is asked about each. */
  held?: WaitingMessage[] | undefined;
  /** How many messages of agents, one upon the other, have led to this, without a person's. */
  hops?: number;
  /** The jobs that led to the turn that runs, or ran last; left out if none did. */
  causes?: readonly string[];
  /** There if the agent speaks with a tool. */
  voice?: VoiceFold;
  /** Noted, and not completed. */
  deliveries: OpenDelivery[];
  /** The last hundred, completed ones too: echoes name them. */
  deliveryIds: string[];
  /** The ones among them that no person wrote; left out if there was none. */
  foreignDeliveryIds?: string[];
  turn: OpenTurn | null;
  /** Turns that began. */
  turnCount: number;
  /** What the engine calls the conversation. */
  title?: string;
  /** Whether the result of the last turn that ended fits the thread's schema; left out if nothing was said of it. */
  output?: NonNullable<EventOf<"turn_end">["output"]>;
  steps: OpenStep[];
  toolCalls: OpenToolCall[];
  /** Calls that have waited for a file in vain. */
  lockedOut?: string[];
  asks: OpenAsk[];
  /** The number of asks since a person, or another agent, has written or decided; left out if there was none. */
  unanswered?: number;
  /**
   * Answers that the engine has not echoed. If it dies before it does, the call did not run, and the same call is
   * answered by the recorded answer when it is asked again.
   */
  recordedAnswers: RecordedAnswer[];
  /** Decisions of people on asks that were put aside: each lets the same call run once. */
  allowed?:
    | { requestId: string; key: string; files: string; optionId: string; at: string; by?: Source }[]
    | undefined;
  /**
   * Answers to questions of the turn that is open, which the engine has echoed; the last twenty. If it dies, it may not
   * have saved them: the next process is told them.
   */
  heardAnswers?: RecordedAnswer[] | undefined;
  /** What a person answered to the trust question, until an engine has started on it. */
  trust?: { key: string; isTrusted: boolean };
  /** Steps of kind `setup` that are done: the worktree, and the person's command in it. */
  setUp?: string[];
  backgroundTasks: BackgroundTask[];
  /** Those that have ended and whose end the model is to be told; `isLost`: with the engine's process. */
  endedTasks?: (Omit<BackgroundTask, "isTold"> & { generation: number; isLost?: true })[];
  children: {
    threadId: ThreadId;
    mode: "await" | "async";
    title: string;
    toolCallId?: string;
    /** Set aside for it. */
    limits?: LimitsOfChild | undefined;
  }[];
  /** What children that have ended have used. */
  endedUse?: Use;
  /** Controls that the engine has not confirmed. */
  pending: {
    interrupt: OrderedOp<"interrupt"> | null;
    mode: OrderedOp<"mode"> | null;
    model: OrderedOp<"model"> | null;
    compact: OrderedOp<"compact"> | null;
    end_task: OrderedOp<"end_task"> | null;
    undo?: OrderedOp<"undo">;
  };
  /** Asked for while `pending.undo` waits: they are done after it, the oldest first. */
  laterUndos?: OrderedOp<"undo">[];
  /** The newest turn that changed files, and what is undone of it: what *Undo* means if it is given no turn. */
  lastChanges?: string;
  /** What was undone since the agent was told last: it is told with the next delivery. */
  undone?: string[];
  /** What people chose in mid-thread: it holds over restarts of the engine. */
  chosen: ModeChoice & { model: string | null };
  isPaused: boolean;
  isKilled: boolean;
  failure: { code: EventOf<"failure">["code"]; message: string } | null;
  /** How often in a row the engine died in its work, and when it did so last; `at` is null once it is taken up. */
  cutOffs: { count: number; at: string | null /** What it said when it died last. */; lastWords?: string };
  /** The turns that were cut off and not ended since, the last few: whoever stops one of them means what goes on with it. */
  cutOffTurns?: string[];
  /** Rules that a person granted in this thread, and nobody has withdrawn. */
  grantedRules: string[];
  /** Those that were withdrawn and not granted again; `changedSeq` is the last event that changed them. */
  rules?: { changedSeq: number; withdrawn: string[] };
  /** Text from outside is in its context: `why` says where it came from, `seq` since which event. */
  marked?: { seq: number; why: string };
  /** `turns` have ended; `begun` are those that took up no other. */
  totals: { turns: number; begun: number; calls: number; toolCalls: number; usage: Usage; spendUsd: number };
  /** Usage and cost of the turn that has not ended, as far as the engine has told. */
  open: { usage: Usage; toldUsd: number; unpriced: Usage };
  /** What jobs' inputs have cost; left out before the first turn. */
  charges?: Charges;
  /** Dollars for a token of input, as the engine's last sum told them; null if there is none. */
  priceUsd: number | null;
  /**
   * How long turns have run, without the time that they waited for people, places and children; `since` is the last
   * sign of life of the turn that runs, null if none does.
   */
  clock: { ms: number; since: string | null };
  limits: Limits;
  /**
   * A person has stopped the thread at this limit; `place`: while it waited for one, or for its worktree's setup;
   * `gate`: somebody there has aborted the turn. It rests until somebody writes, resumes or raises it.
   */
  stoppedAt: AskedLimit | "place" | "gate" | null;
  /** There if the thread has gates. */
  gates?: FoldGates;
  /** The last time that a person let all threads go on beyond a day's limit, here. */
  dayRaised: { day: string; allowedUsd: number } | null;
  context: { used: number; size: number } | null;
  /** When the agent was last told the beginning of its memory, and by which process; `with` which delivery or request. */
  memory?: { seq: number; generation: number; with: string };
  /** When the context was last shortened: what came before that may be left out of the summary. */
  compactedSeq?: number;
  /** When the context began to be shortened, if that has not ended. */
  compactingSeq?: number;
  /** The jobs that its agent has made; the sidecar alone knows which of them are still there. */
  jobs?: JobsFold;
  /** The provider takes no more calls for now, and nobody has been asked yet. */
  usageLimit?: { message: string; resetsAt?: string | undefined };
  /** A person lets the turn that was cut off go on by itself at this moment. */
  goOnAt?: string;
}

export interface WaitingMessage {
  seq: number;
  messageId: string;
  source: Source;
  content: Block[];
  blobs?: BlobMap;
  when: "now" | "next_turn";
  plain: boolean;
  /** The writer's handle, in a thread that speaks with a tool; with the time at which it was written. */
  handle?: string | undefined;
  channelId?: DiscordId | undefined;
  at?: string | undefined;
  /** The jobs that led to it. */
  causes?: readonly string[] | undefined;
}

export interface BackgroundTask {
  taskId: string;
  title: string;
  /** The model is to be told of its end. */
  isTold?: true | undefined;
}

export interface JobsFold {
  /** Their names. */
  made: string[];
  /** Calls that make or remove one and have not ended. */
  calls: { callId: string; name: string; isMade: boolean }[];
}

export interface VoiceFold {
  /** The people for whom it is at work: who wrote in this turn, or in the last turn in which anybody did. */
  askers?: { source: Source; channelId?: DiscordId }[];
  /** People's messages that it has read, and neither answered nor settled otherwise. */
  owed: {
    messageId: string;
    source: Source;
    handle: string;
    channelId: DiscordId;
    at: string;
    seq: number;
  }[];
  /** Its newest calls of the tools that speak. */
  calls: { callId: string; seq: number }[];
  /** The messages that those have sent. */
  said: { callId: string; messageId: string; address: string }[];
  /** The ids of owed messages that the agent was reminded of. */
  heldIds: string[];
}

export interface OpenDelivery {
  deliveryId: string;
  status: "noted" | "started";
  messages: WaitingMessage[];
  /** What stands before the messages: files that were put back. */
  undone?: string[];
}

export interface OpenTurn {
  turnId: string;
  cause: "message" | "task" | "resume";
  deliveryIds: string[];
  startedAt: string;
  seq: number;
  /** What it changed is written down. */
  hasChanges?: true;
  /** How many calls of tools the thread had begun before it. */
  callsBefore?: number;
}

export interface OpenStep {
  stepId: string;
  kind: EventOf<"step_start">["kind"];
  title: string;
  startedAt: string;
}

export interface OpenToolCall {
  /** It may have run from here on. */
  hasBegun?: true;
  toolCallId: string;
  name: string;
  title: string;
  kind: EventOf<"tool_call">["kind"];
  startedAt: string;
}

export interface OpenAsk {
  requestId: string;
  kind: Awaiting;
  toolCallId: string;
  toolName: string;
  callKey: string;
  /** The call's input as JSON, cut. */
  input: string;
  title: string;
  /** The engine's process that asked. If it is dead the ask is parked. */
  generation: number;
  askedAt: string;
  seq: number;
  /** Older requests that this one stands for: an answer to any of them is an answer to this. */
  replaces: string[];
  /** optionId → what choosing it means; empty for questions. */
  options: EventOf<"permission_request">["options"];
  /** The trust question: no engine runs before its answer. */
  trust?: true;
  /** The question of a thread that has reached a limit: no engine works before its answer. */
  limit?: NonNullable<EventOf<"permission_request">["limit"]> | undefined;
  /** The question about another agent's message. */
  heldMessageId?: string | undefined;
  /** The question about a write to memory. */
  memoryWriteId?: string | undefined;
  /** The question of a gate at this point. */
  gate?: GatePoint | undefined;
  /** It was put aside: no call waits for it. The names of its call, and of the files that the call writes. */
  aside?: { key: string; files: string } | undefined;
}

export interface FoldGates {
  /** Asked, and those decided on whose call, or turn, has not ended. */
  entries: GateEntry[];
  /** The turn's calls in their order; `endedSeq` is there once a call has ended. */
  calls: (GatedCall & { toolCallId: string; endedSeq?: number })[];
  /** How often in a row a tool has failed in the turn, by its name. */
  failures: Readonly<Record<string, number>>;
  /** By gate: where it asked last. */
  seen: Readonly<Record<number, { seq: number; steps: number; turns: number }>>;
  /** Calls that have ended. */
  steps: number;
  /** In the turn, and in those before it that it tries again. */
  retries: number;
}

export interface GateEntry {
  requestId: string;
  gate: number;
  at: GatePoint;
  by: EventOf<"gate_request">["by"];
  callKey: string;
  /** The call, or the engine's request, that waits. */
  waits: string;
  title: string;
  toolName: string;
  /** The call's input as JSON, cut. */
  input: string;
  attempt: number;
  /** The engine's process that waits. */
  generation: number;
  askedAt: string;
  /** It is about a turn that has ended. */
  isAfterTurn?: true;
  outcome?: GateOutcome;
  text?: string;
  decidedBy?: Source;
}

export interface RecordedAnswer {
  requestId: string;
  toolCallId: string;
  input: string;
  callKey: string;
  toolName: string;
  generation: number;
  response: AskAnswer;
  /** That it grants. */
  rule?: string;
}

export type AskAnswer = { by?: Source } & (
  | { kind: "permission"; optionId: string; message?: string }
  | { kind: "elicitation"; action: "accept" | "decline"; content?: Record<string, string> }
);
