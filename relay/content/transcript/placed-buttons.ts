/** Messages that are done but for the thread's buttons below them: these go when a newer message takes them over. */
import { z } from "zod";
import { type Button, diffButton, GO_ON_BUTTON } from "../buttons.ts";
import type { Page } from "../content.ts";

/** A message's key, and the event with which the turn began whose change it can show; 0 if it shows none. */
const placedSchema = z.tuple([z.string(), z.int().nonnegative()]);
export const placedListSchema = z.array(placedSchema).default([]);
export type PlacedList = z.infer<typeof placedListSchema>;

/** Two or three at most if all goes well; a mark has room for these. */
const MAX_PLACED = 20;

export class PlacedButtons {
  readonly #placed: Map<string, number>;

  constructor(placed: PlacedList) {
    this.#placed = new Map(placed);
  }

  has(key: string): boolean {
    return this.#placed.has(key);
  }

  /** The thread's buttons stand below this message, which is not listed any more. @param turn as in the mark */
  note(key: string, turn: number): void {
    this.#placed.set(key, turn);
    for (const oldest of [...this.#placed.keys()].slice(0, -MAX_PLACED)) this.#placed.delete(oldest);
  }

  /** They are gone, or the message is. */
  drop(key: string): void {
    this.#placed.delete(key);
  }

  /** What takes them away: only the buttons change, for nobody has the text any more. */
  pages(isWanted: (key: string) => boolean): Page[] {
    return [...this.#placed]
      .filter(([key]) => isWanted(key))
      .map(([key, turn]) => ({
        key,
        text: "",
        buttons: buttonsLeft(key, turn),
        isSealed: true,
        presence: "kept",
        isAside: false,
        notBefore: 0,
      }));
  }

  list(): PlacedList {
    return [...this.#placed];
  }
}

/** As `ownButtons` has them. */
function buttonsLeft(key: string, turn: number): readonly Button[] {
  if (key.startsWith("f")) return GO_ON_BUTTON;
  return turn === 0 ? [] : diffButton(turn);
}
