/**
 * What a person can press or choose from below messages. All that it means is in its id, so that it works after any
 * restart.
 */

/** What a person can press. discord/ gives it Discord's shape. */
export interface Button {
  /** 1 to 100 characters; comes back when somebody presses it. */
  readonly id: string;
  /** At most 80 characters. */
  readonly label: string;
  readonly style: "primary" | "secondary" | "success" | "danger";
}

/** A list to choose from, in a row of its own. */
export interface Select {
  /** As a button's. */
  readonly id: string;
  /** What stands there while nothing is chosen; at most 150 characters. */
  readonly label: string;
  /** 1 to 25. What comes back is the index, as text. */
  readonly options: readonly SelectOption[];
  /** How many may be chosen: 1 to this. */
  readonly max: number;
}

export interface SelectOption {
  /** 1 to 100 characters. */
  readonly label: string;
  /** At most 100 characters; may be empty. */
  readonly hint: string;
  readonly isChosen: boolean;
}

export const KEY_BUTTONS: readonly Button[] = [
  { id: "key:C-c", label: "Ctrl-C", style: "secondary" },
  { id: "key:Up,Enter", label: "↑⏎", style: "secondary" },
  { id: "done", label: "Done", style: "danger" },
];

/** Below the message that tells a thread's end: all that is left to do. */
export const DONE_BUTTON: readonly Button[] = [{ id: "done", label: "Done", style: "secondary" }];

/** Below the message that an agent can't go on by itself. */
export const GO_ON_BUTTON: readonly Button[] = [{ id: "go-on", label: "Go on", style: "primary" }];

/** Below the newest message of an agent's thread. */
export const THREAD_BUTTONS: readonly Button[] = [
  { id: "history", label: "Steps", style: "secondary" },
  { id: "done", label: "Done", style: "secondary" },
];

/** Shows what a turn changed. @param seq the event with which it began */
export function diffButton(seq: number): readonly Button[] {
  return [{ id: `diff:${seq}`, label: "Diff", style: "secondary" }];
}

/**
 * Below the end of a turn whose changes git keeps, and below what was undone.
 * @param turnId of the turn, or of the undo
 */
export function changesButtons(turnId: string, undo = "Undo"): readonly Button[] {
  return [
    { id: `changes:${turnId}`, label: "Diff", style: "secondary" },
    { id: `undo:${turnId}`, label: undo, style: "secondary" },
  ];
}

/** Lets a paused agent go on, with what a person wrote to it. */
export function resumeButton(messageId: string): readonly Button[] {
  return [{ id: `resume-send:${messageId}`, label: "Resume and send", style: "primary" }];
}

/** What a message to an agent that has ended can become. */
export function endedButtons(messageId: string): readonly Button[] {
  return [{ id: `ended-here:${messageId}`, label: "Go on here", style: "primary" }, newButton(messageId)];
}

/** What a message to an agent that is locked can become. */
export function lockedButtons(messageId: string): readonly Button[] {
  return [{ id: `resume-send:${messageId}`, label: "Go on here", style: "primary" }, newButton(messageId)];
}

function newButton(messageId: string): Button {
  return { id: `ended-new:${messageId}`, label: "Start a new one that knows this", style: "secondary" };
}

/** Sends what a person wrote while the relay was away. */
export function sendButton(messageId: string): readonly Button[] {
  return [{ id: `send:${messageId}`, label: "Send it now", style: "primary" }];
}

/** Types a text with tabs, although the program may take them for a key. */
export function typeAnywayButton(messageId: string): readonly Button[] {
  return [{ id: `type-anyway:${messageId}`, label: "Type it anyway", style: "secondary" }];
}
