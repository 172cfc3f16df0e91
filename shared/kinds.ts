/**
 * The kinds of threads, and what every side has to know of one. What a side does for a kind stands in its own folder
 * `kinds/`: there the compiler asks for whatever a new kind lacks.
 */

export interface KindFacts {
  /** With its article, in a sentence for a person. */
  readonly name: string;
  /** Stands before a thread's name. */
  readonly icon: string;
  /** Between a thread's directory and its command, in its first message. */
  readonly begins: string;
  /** It works in turns, whose steps are kept: it can be paused, told something for later, limited and branched. */
  readonly hasTurns: boolean;
  /** The exit code of the program in its pane is its own, and worth telling. */
  readonly hasExitCode: boolean;
}

export const KINDS = {
  terminal: { name: "a terminal", icon: "🖥", begins: "runs", hasTurns: false, hasExitCode: true },
  // In its pane is a runner, whose exit code says nothing of the agent.
  agent: { name: "an agent", icon: "🤖", begins: "was asked", hasTurns: true, hasExitCode: false },
  // In its pane is the program that runs Chromium.
  browser: { name: "a browser", icon: "🌐", begins: "browses", hasTurns: false, hasExitCode: false },
  // It has no program: what its members say is written down by the sidecar.
  room: { name: "a room", icon: "🗣", begins: "is a room", hasTurns: false, hasExitCode: false },
} as const satisfies Record<string, KindFacts>;

export type ThreadType = keyof typeof KINDS;

/** The facts of a thread's kind. */
export function kindOf({ type }: { readonly type: ThreadType }): KindFacts {
  return KINDS[type];
}
