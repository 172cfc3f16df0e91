/** What the console's page does for a kind of thread in its own way; everything else treats threads alike. */
export interface ConsoleKind {
  /** People read and write in a conversation; the terminal beside it only shows. */
  readonly hasConversation: boolean;
  /** It shows a page's picture, which people use by its numbers, in the place of a terminal. */
  readonly hasPicture: boolean;
  /** What the form that makes a thread asks for; undefined if the form makes none of this kind. */
  readonly making: Making | undefined;
  /** A sentence for a person who is about to end it. */
  readonly ends: string;
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
