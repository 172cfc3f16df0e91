/** Messages that are done but for the thread's buttons below them: these go when a newer message takes them over. */
import * as z from "zod";
import type { Button } from "../../actions/frame/controls.ts";
import { changesButtons, diffButton, GO_ON_BUTTON } from "../buttons.ts";
import type { Page } from "../content.ts";

/**
 * A message's key, and the turn whose change it can show: its id if git keeps it, else the event with which it
 * began; 0 if it shows none.
 */
const placedSchema = z.tuple([z.string(), z.int().nonnegative().or(z.string())]);
export const placedListSchema = z.array(placedSchema).default([]);
export type PlacedList = z.infer<typeof placedListSchema>;
export type PlacedTurn = PlacedList[number][1];

/** Two or three at most if all goes well; a mark has room for these. */
const MAX_PLACED = 20;

export class PlacedButtons {
  readonly #placed: Map<string, PlacedTurn>;

  constructor(placed: PlacedList) {
    this.#placed = new Map(placed);
  }

  has(key: string): boolean {
    return this.#placed.has(key);
  }

  /** The thread's buttons stand below this message, which is not listed any more. @param turn as in the mark */
  note(key: string, turn: PlacedTurn): void {
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
function buttonsLeft(key: string, turn: PlacedTurn): readonly Button[] {
  if (key.startsWith("f")) return GO_ON_BUTTON;
  if (typeof turn === "string") return changesButtons(turn);
  return turn === 0 ? [] : diffButton(turn);
}
