/**
 * The names of turns and undos. Kept states of files and buttons in Discord outlive a thread whose id is used again
 * ("Go on here"). The thread's number is never used again, so it stands in the names. Pure.
 */
import type { Launch } from "../engine.ts";

/**
 * @param byte of the engine's output where the turn begins
 * @param launch an older version's has no number: its turns keep the names that they were given
 */
export function turnIdOf({ generation, number }: Launch, byte: number): string {
  return `t${numbered(number)}${generation}-${byte}`;
}

/** Of a turn that had come to its end before it could say so. @param seq the transcript's last event */
export function endedTurnIdOf({ generation, number }: Launch, seq: number): string {
  return `q${numbered(number)}${generation}-${seq}`;
}

/** @param seq of the event that asked for it */
export function undoIdOf(number: number | undefined, seq: number): string {
  return `u${numbered(number)}${seq}`;
}

function numbered(number: number | undefined): string {
  return number === undefined ? "" : `${number}-`;
}
