/**
 * The names of turns and undos. Kept states of files and buttons in Discord outlive a thread whose id is used again
 * ("Go on here"). The thread's number is never used again, so it stands in the names. Pure.
 */

/** The engine's process, as it was launched. */
interface Launched {
  generation: number;
  /** The thread's. An older version's launch has none: its turns keep the names that they were given. */
  number?: number | undefined;
}

/** @param byte of the engine's output where the turn begins */
export function turnIdOf({ generation, number }: Launched, byte: number): string {
  return `t${numbered(number)}${generation}-${byte}`;
}

/** The id of a turn that had come to its end before it could say so. @param seq the transcript's last event */
export function endedTurnIdOf({ generation, number }: Launched, seq: number): string {
  return `q${numbered(number)}${generation}-${seq}`;
}

/** @param seq of the event that asked for it */
export function undoIdOf(number: number | undefined, seq: number): string {
  return `u${numbered(number)}${seq}`;
}

/** The `seq` of the event that asked for an undo: it ends the name that {@link undoIdOf} has made. */
export function askedSeqOf(undoId: string): number {
  return Number(/(?<!\d)\d+$/.exec(undoId)?.[0]);
}

function numbered(number: number | undefined): string {
  return number === undefined ? "" : `${number}-`;
}
