import type { ThreadStatus } from "../../../../shared/api.ts";

/** What the console's page does for a kind of thread in its own way; everything else treats threads alike. */
export interface ConsoleKind {
  /** People read and write in a conversation; the terminal beside it only shows. */
  readonly hasConversation: boolean;
  /** Opens what stands in the place of a terminal's screen; undefined: the screen does. */
  readonly openPanel: ((options: PanelOptions) => Panel) | undefined;
  /** A program runs in a pane of its own, which can be attached to. */
  readonly hasPane: boolean;
  /** What the form that makes a thread asks for; undefined if the form makes none of this kind. */
  readonly making: Making | undefined;
  /** A sentence for a person who is about to end it. */
  readonly ends: string;
}

export interface PanelOptions {
  threadId: string;
  /** The thread's status as it is opened. */
  status: ThreadStatus;
  /** Whether the person may do anything, or only looks on. */
  canAct: boolean;
  onChoose: (threadId: string) => void;
  onSignedOut: () => void;
}

export interface Panel {
  close(): void;
}

export interface Making {
  /** Beside its radio button. */
  readonly choice: string;
  /** Stands above the field with its command. */
  readonly commandLabel: string;
  /** Its command is an address, on one line. */
  readonly isAddress: boolean;
  /** It works in a directory, which can be chosen. */
  readonly hasDirectory: boolean;
  /** It can begin in a worktree of its own. */
  readonly hasWorktree: boolean;
  /** Its engine and its model can be chosen. */
  readonly hasEngine: boolean;
}
