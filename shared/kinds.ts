/**
 * The kinds of threads, and what every side has to know of one. What a side does for a kind stands in its own folder
 * `kinds/`: there the compiler asks for whatever a new kind lacks.
 */
import * as z from "zod";

export const kindFactsSchema = z.object({
  /** With its article, in a sentence for a person. */
  name: z.string().max(100),
  /** Several of them, as people choose which to see: `agents`. */
  many: z.string().max(100),
  /** Stands before a thread's name. */
  icon: z.string().max(20),
  /** Between a thread's directory and its command, in its first message. */
  begins: z.string().max(100),
  /** It works in turns, whose steps are kept: it can be paused, told something for later, limited and branched. */
  hasTurns: z.boolean(),
  /** The exit code of the program in its pane is its own, and worth telling. */
  hasExitCode: z.boolean(),
});
export type KindFacts = Readonly<z.infer<typeof kindFactsSchema>>;

/** The kinds that come with threadmux. A sidecar may have more: the threads of those tell their facts themselves. */
export const KINDS = {
  terminal: {
    name: "a terminal",
    many: "terminals",
    icon: "🖥",
    begins: "runs",
    hasTurns: false,
    hasExitCode: true,
  },
  // In its pane is a runner, whose exit code says nothing of the agent.
  agent: {
    name: "an agent",
    many: "agents",
    icon: "🤖",
    begins: "was asked",
    hasTurns: true,
    hasExitCode: false,
  },
  // In its pane is the program that runs Chromium.
  browser: {
    name: "a browser",
    many: "browsers",
    icon: "🌐",
    begins: "browses",
    hasTurns: false,
    hasExitCode: false,
  },
  // It has no program: what its members say is written down by the sidecar.
  room: {
    name: "a room",
    many: "rooms",
    icon: "🗣",
    begins: "is a room",
    hasTurns: false,
    hasExitCode: false,
  },
} as const satisfies Record<string, KindFacts>;

/** A kind that comes with threadmux: each side has a line for it. */
export type OwnKind = keyof typeof KINDS;

/** The name of any kind. */
export const threadTypeSchema = z
  .string()
  .regex(/^[a-z][a-z0-9-]{0,31}$/, `must be a kind of thread: ${Object.keys(KINDS).join(", ")}`)
  .meta({ enum: Object.keys(KINDS) });
export type ThreadType = OwnKind | (string & {});

/** A thread's type, with the facts of its kind if that is none of {@link KINDS}. */
export interface Typed {
  readonly type: ThreadType;
  readonly facts?: KindFacts | undefined;
}

/** The facts of a thread's kind. */
export function kindOf({ type, facts }: Typed): KindFacts {
  const own: Readonly<Record<string, KindFacts>> = KINDS;
  return facts ?? (Object.hasOwn(own, type) ? own[type] : undefined) ?? unknownKind(type);
}

/**
 * The kind of a thread's type, of those that a program has. One that it does not have is treated as a terminal: it has
 * a log too, and takes text. The sidecar has the kinds of all of its threads.
 */
export function kindIn<K>(kinds: Readonly<Record<OwnKind, K>>, type: ThreadType): K {
  const all: Readonly<Record<string, K>> = kinds;
  return (Object.hasOwn(all, type) ? all[type] : undefined) ?? kinds.terminal;
}

/** The thread is of a newer sidecar than the program that reads it. */
function unknownKind(type: string): KindFacts {
  return {
    name: `a thread of the kind ${type}`,
    many: type,
    icon: "▫",
    begins: "began",
    hasTurns: false,
    hasExitCode: false,
  };
}
