/**
 * What a kind of thread (a terminal, an agent) does in its own way. All other code treats threads alike: it asks
 * `kindIn(kinds, thread.type)` and never looks at the type itself.
 *
 * Every thread has a row, a session in tmux, a log and a queue. What else a kind has (turns, files, a conversation) is
 * its own: it keeps it, brings it in step with the world after a restart, and tells of it in {@link Kind.describe}.
 */
import type * as z from "zod";
import type { ThreadConfig } from "../../../shared/agent/config.ts";
import type { DirectiveRef } from "../../../shared/agent/directive-ref.ts";
import type { HoldReason } from "../../../shared/agent/message-fields.ts";
import type { createRequestSchema, Thread, ThreadStatus } from "../../../shared/api.ts";
import type { Follows } from "../../../shared/follow/spec.ts";
import type { ThreadId } from "../../../shared/ids.ts";
import type { inputRequestSchema } from "../../../shared/input-api.ts";
import type { Principal } from "../../../shared/principal.ts";
import type { NewRoomMember, NewRoomRow } from "../../store/rooms.ts";
import type { NewThread, StoredThread } from "../../store/threads.ts";
import type { Pane } from "../../tmux/pane.ts";
import type { Ending, RunEnd } from "../ending.ts";
import type { FirstHome } from "../homes.ts";

type Asked = z.output<typeof createRequestSchema>;

/** With what has been prepared for it. A thread with an origin may begin without a command. */
export type CreateRequest = Omit<Asked, "agent" | "home"> & {
  home?: FirstHome | undefined;
  /** Its directive has been found, and all that it says stands in the other fields. */
  agent?:
    | (Omit<NonNullable<Asked["agent"]>, "directive" | "inputs"> & { directive?: DirectiveRef | undefined })
    | undefined;
  /** What of its directive is not honoured, a sentence each. */
  notes?: readonly string[];
  createdBy: Principal;
  origin?: Origin;
  workspace?: NewWorkspace;
  /** The logs that a terminal follows. */
  follows?: Follows;
  /** A conversation that a person began by hand, and where it is left. Such a thread may begin without a command too. */
  taken?: NonNullable<ThreadConfig["taken"]>;
  /** How many agents the first message of a child has come through, counted as for a message of its parent. */
  hops?: number;
  /** A room's rules and its first members. */
  room?: NewRoom;
  /** The jobs that led to it, the oldest first. */
  causes?: readonly string[];
  outside?: Outside;
};

/** The rules and the first members of a room. */
export type NewRoom = Omit<NewRoomRow, "threadId"> & { members: readonly NewRoomMember[] };

/** What an input brings of text from outside. */
export interface Outside {
  /** It is in the input's own words: where it came from. The thread asks about everything from then on. */
  marks?: string;
  /** All of it, if the input has a part alone; it becomes an attachment. */
  file?: { name: string; text: string };
}

/** Where an agent works, if that is not the directory itself. */
export type NewWorkspace =
  /** A worktree that is to be made: of the repository at `root`, `below` it, with the files of a kept state. */
  | { kind: "new"; root: string; below: string; left?: string; tree?: string; isMidTurn?: boolean }
  /** One that is there. */
  | { kind: "there"; path: string; dir: string };

/** What a new thread knows from its first moment on. */
export interface Origin {
  /** Becomes the folder of the thread. */
  folder: string;
  config: NonNullable<ThreadConfig["origin"]>;
  /** The thread that takes no more messages from the moment on at which this one is there. */
  locks?: ThreadId;
}
/** With who sent it. */
export type Input = z.output<typeof inputRequestSchema> & {
  by: Principal;
  outside?: Outside;
  /** The jobs that led to it, the oldest first. */
  causes?: readonly string[];
  /** An agent does not get it before a person there lets it in. */
  held?: HoldReason | undefined;
};

/** What a kind says of a thread in its own words; whatever it leaves out is said as of every thread. */
export type KindDescription = Pick<
  Thread,
  | "waiting"
  | "number"
  | "engine"
  | "directive"
  | "voice"
  | "awaiting"
  | "problem"
  | "doing"
  | "turn"
  | "output"
  | "holds"
  | "activeAt"
  | "origin"
  | "browser"
> &
  Partial<Pick<Thread, "status" | "processRunning">> & {
    /** The thread that spawned it. */
    parentId?: ThreadId;
  };

/** Describes a thread that is no agent's. */
export const NO_AGENT: KindDescription = {
  waiting: 0,
  number: null,
  engine: null,
  directive: null,
  awaiting: null,
  problem: null,
  doing: null,
  turn: null,
  output: null,
  holds: null,
  activeAt: null,
  origin: null,
};

/** Gives agents what was said in threads of a kind. */
export interface SaidFace {
  /** Whether an agent that is not of the thread's family may read it too. */
  isOpenTo(threadId: ThreadId, readerId: ThreadId): boolean;

  /**
   * @param since {@link SaidPart.readTo} of an earlier part; without it the end is read
   * @throws AppError `unsupported` if its words are private, `range` if there is not so much
   */
  read(threadId: ThreadId, since: number | undefined): Promise<SaidPart>;
}

export interface SaidPart {
  /** In their order. */
  texts: string[];
  readTo: number;
  isMore: boolean;
  /** The source of text from outside in these texts, if the kind knows it; else the thread's own mark counts. */
  marks?: string | undefined;
}

/** If nothing else is said, the caller holds the thread's queue and `thread` is as it is stored now. */
export interface Kind {
  /**
   * Looks whether such a thread can be begun, before anything of it is made.
   * @throws AppError that says why not.
   */
  checkCreation(request: CreateRequest): void | Promise<void>;

  /** Looks whether there is room for one more of the kind. @throws AppError `max_threads`, `too_many_agents` */
  checkRoom(): void;

  /** Stores the thread and what the kind keeps of it from its first moment; runs within a transaction. */
  store(thread: NewThread, request: CreateRequest): void;

  /**
   * Makes the session with the first program in it, and stores that the thread is made.
   * @throws AppError `unavailable`
   */
  open(thread: StoredThread): Promise<void>;

  /** Whether an input of this id has gone in before. */
  hasTaken(thread: StoredThread, inputId: string): Promise<boolean>;

  /**
   * Takes an input of an open thread, in the way of the kind: types it, stores it, starts something for it.
   * @returns whether a program read it without showing it
   * @throws AppError `thread_ended`, `too_large`, `invalid_request`, `unavailable`
   */
  takeInput(thread: StoredThread, input: Input): Promise<{ isHidden: boolean }>;

  /** Whether the thread's program has asked for pastes in one piece. */
  asksForPaste(thread: StoredThread): Promise<boolean>;

  /** Half a sentence for one whose input a thread of this status does not take. */
  whyNoInput(status: ThreadStatus): string;

  /** How the program that runs now, or ran last, ended; undefined while it goes on, or if its wrapper was killed. */
  findEnd(thread: StoredThread): RunEnd | undefined;

  /** The program in the pane has ended and all of its output is in the log. */
  takeEnd(thread: StoredThread, ending: Ending): Promise<void>;

  /**
   * Whether {@link reconcile} has something to do; asked without the queue, for every open thread after each
   * connection to tmux and whenever sessions came or went.
   */
  isOutOfStep(thread: StoredThread, hasSession: boolean): boolean;

  /** Brings the thread in step with tmux: its session is gone (`pane` undefined), or something waits to be started. */
  reconcile(thread: StoredThread, pane: Pane | undefined): Promise<void>;

  /** The kind's own part of what the API says of a thread. */
  describe(thread: StoredThread): KindDescription;

  /** What the kind keeps of the thread in files of its own, in bytes on disk. */
  diskBytes(threadId: ThreadId): Promise<number>;

  /** Without it nothing is said in such threads: they only print. */
  readonly said?: SaidFace;

  /** The thread was killed: its processes are gone, and it is stored so. What is kept of it in memory may go. */
  takeKill(thread: StoredThread, by?: Principal): Promise<void>;

  /** The thread and its log are removed, or about to be made anew: so is what the kind keeps of it. */
  remove(threadId: ThreadId): void;
}
