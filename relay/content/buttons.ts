/** Which buttons stand together below messages; what each of them does is in `relay/actions/`. */

import type { BrowserShown } from "../../shared/browser/state.ts";
import type { View } from "../../shared/follow/spec.ts";
import type { DiscordId } from "../../shared/ids.ts";
import { browserClick } from "../actions/browser-click.ts";
import { browserDo } from "../actions/browser-do.ts";
import { browserOpen } from "../actions/browser-open.ts";
import { browserType } from "../actions/browser-type.ts";
import { changes } from "../actions/changes.ts";
import { diff } from "../actions/diff.ts";
import { done } from "../actions/done.ts";
import { endedHere } from "../actions/ended-here.ts";
import { endedNew } from "../actions/ended-new.ts";
import type { Button } from "../actions/frame/controls.ts";
import { goOn } from "../actions/go-on.ts";
import { history } from "../actions/history.ts";
import { key } from "../actions/key.ts";
import { logsGrep } from "../actions/logs-grep.ts";
import { logsView } from "../actions/logs-view.ts";
import { memoryUndo } from "../actions/memory-undo.ts";
import { outside } from "../actions/outside.ts";
import { resumeSend } from "../actions/resume-send.ts";
import { roomStop } from "../actions/room-stop.ts";
import { send } from "../actions/send.ts";
import { typeAnyway } from "../actions/type-anyway.ts";
import { undo } from "../actions/undo.ts";

export const KEY_BUTTONS: readonly Button[] = [
  ...key.buttons({ keys: ["C-c"] }, "Ctrl-C", "secondary"),
  ...key.buttons({ keys: ["Up", "Enter"] }, "↑⏎", "secondary"),
  ...done.buttons({}, "Done", "danger"),
];

/** Below the newest page of a thread that follows logs. */
export function viewButtons({ paused, grep }: View): readonly Button[] {
  return [
    ...(paused
      ? logsView.buttons({ to: "resume" }, "Go on", "primary")
      : logsView.buttons({ to: "pause" }, "Pause", "secondary")),
    ...logsGrep.buttons({}, "Grep…", "secondary"),
    ...(grep === null ? [] : logsView.buttons({ to: "all" }, "All lines", "secondary")),
    ...done.buttons({}, "Done", "danger"),
  ];
}

/** Makes the buttons below a browser's picture: two rows of five. */
export function browserButtons({
  picture,
  status,
}: Pick<BrowserShown, "picture" | "status">): readonly Button[] {
  const isLoading = status === "loading";
  return [
    ...browserClick.buttons({ picture }, "Click…", "primary"),
    ...browserType.buttons({ picture }, "Type…", "primary"),
    ...browserDo.buttons({ to: "enter" }, "Enter", "secondary"),
    ...browserOpen.buttons({}, "Go to…", "secondary"),
    ...done.buttons({}, "Done", "danger"),
    ...browserDo.buttons({ to: "back" }, "← Back", "secondary"),
    ...(isLoading
      ? browserDo.buttons({ to: "stop" }, "Stop", "danger")
      : browserDo.buttons({ to: "reload" }, "Reload", "secondary")),
    ...browserDo.buttons({ to: "up" }, "▲", "secondary"),
    ...browserDo.buttons({ to: "down" }, "▼", "secondary"),
    ...browserDo.buttons({ to: "look" }, "Look", "secondary"),
  ];
}

/** Below the message that tells a thread's end: all that is left to do. */
export const DONE_BUTTON: readonly Button[] = done.buttons({}, "Done", "secondary");

/** Below the message that an agent can't go on by itself. */
export const GO_ON_BUTTON: readonly Button[] = goOn.buttons({}, "Go on", "primary");

/** Below the newest message of an agent's thread. */
export const THREAD_BUTTONS: readonly Button[] = [
  ...history.buttons({}, "Steps", "secondary"),
  ...done.buttons({}, "Done", "secondary"),
];

/** Shows what a turn changed. @param seq the event with which it began */
export function diffButton(seq: number): readonly Button[] {
  return diff.buttons({ seq }, "Diff", "secondary");
}

/**
 * Below the end of a turn whose changes git keeps, and below what was undone.
 * @param turnId of the turn, or of the undo
 */
export function changesButtons(turnId: string, label = "Undo"): readonly Button[] {
  return [
    ...changes.buttons({ turnId }, "Diff", "secondary"),
    ...undo.buttons({ turnId }, label, "secondary"),
  ];
}

/** In a room's first message, while a round runs. */
export function roomButtons(): readonly Button[] {
  return roomStop.buttons({}, "Stop", "danger");
}

/** Below a write to memory. */
export function memoryButtons(writeId: string): readonly Button[] {
  return memoryUndo.buttons({ writeId }, "Undo", "secondary");
}

/** Lets a paused agent go on, with what a person wrote to it. */
export function resumeButton(messageId: DiscordId): readonly Button[] {
  return resumeSend.buttons({ messageId }, "Resume and send", "primary");
}

/** What a message to an agent that has ended can become. */
export function endedButtons(messageId: DiscordId): readonly Button[] {
  return [...endedHere.buttons({ messageId }, "Go on here", "primary"), ...newButton(messageId)];
}

/** What a message to an agent that is locked can become. */
export function lockedButtons(messageId: DiscordId): readonly Button[] {
  return [...resumeSend.buttons({ messageId }, "Go on here", "primary"), ...newButton(messageId)];
}

function newButton(messageId: DiscordId): Button[] {
  return endedNew.buttons({ messageId }, "Start a new one that knows this", "secondary");
}

/** Sends what a person wrote while the relay was away. */
export function sendButton(messageId: DiscordId): readonly Button[] {
  return send.buttons({ messageId }, "Send it now", "primary");
}

/** Types a text with tabs, although the program may take them for a key. */
export function typeAnywayButton(messageId: DiscordId): readonly Button[] {
  return typeAnyway.buttons({ messageId }, "Type it anyway", "secondary");
}

/** Below the message that tells that a thread was marked. @param seq of the event that marked it */
export function outsideButtons(seq: number): readonly Button[] {
  return [
    ...outside.buttons({ what: "anew", seq }, "Begin anew without it", "secondary"),
    ...outside.buttons({ what: "trust", seq }, "Trust what it has read", "danger"),
  ];
}
