/** What the console's page does for a kind of thread in its own way; everything else treats threads alike. */
export interface ConsoleKind {
  /** People read and write in a conversation; the terminal beside it only shows. */
  readonly hasConversation: boolean;
  /** It shows a page's picture, which people use by its numbers, in the place of a terminal. */
  readonly hasPicture: boolean;
  /** Its command, in the form that makes a thread. */
  readonly commandLabel: string;
  /** It can begin in a worktree of its own. */
  readonly hasWorktree: boolean;
  /** Its engine and its model can be chosen. */
  readonly hasEngine: boolean;
  /** A sentence for a person who is about to end it. */
  readonly ends: string;
}
