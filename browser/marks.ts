/**
 * Finds what can be clicked on the visible part of a page, and finds it again when a person has chosen its number. The
 * scripts run in a JavaScript world of their own, which the page's scripts do not reach. What they return is read from
 * the page all the same: it is parsed, and bounded.
 */
import type { CDPSession } from "playwright-core";
import * as z from "zod";
import { MAX_ADDRESS_CHARACTERS } from "../shared/browser/address.ts";
import { MAX_TEXT_CHARACTERS, type PageText, pageTextSchema } from "../shared/browser/page-text.ts";
import { MAX_MARKS, VIEW } from "../shared/browser/spec.ts";
import { markSchema } from "../shared/browser/state.ts";
import { withDeadline } from "../shared/lifecycle.ts";
import { FIND_SCRIPT, LOCATE_SCRIPT, TEXT_SCRIPT } from "./page-scripts.ts";

const WORLD = "threadmux";
/** A page that does not answer for so long is at work. */
const ANSWER_MS = 3_000;
const MAX_TEXT = 80;

const placedSchema = z.object({
  kind: markSchema.shape.kind,
  text: z.string().transform((text) => text.slice(0, MAX_TEXT)),
  to: z.string().max(MAX_ADDRESS_CHARACTERS).optional(),
  x: z.number(),
  y: z.number(),
  width: z.number(),
  height: z.number(),
});
const foundSchema = z.object({
  marks: z.array(placedSchema).max(MAX_MARKS),
  top: z.number(),
  height: z.number(),
});
export type PlacedMark = z.infer<typeof placedSchema>;
export type FoundMarks = z.infer<typeof foundSchema>;

const locatedSchema = z.union([
  z.object({ x: z.number(), y: z.number(), isField: z.boolean() }),
  z.object({
    why: z.enum(["unknown", "gone", "hidden", "covered", "chosen", "no choice"]),
    text: z.string().optional(),
  }),
]);
export type Located = z.infer<typeof locatedSchema>;

export class Marks {
  readonly #cdp: CDPSession;

  constructor(cdp: CDPSession) {
    this.#cdp = cdp;
  }

  /** @param picture the elements are known by its number afterwards. @throws Error if the page does not answer */
  async find(picture: number): Promise<FoundMarks> {
    const { width, height } = VIEW;
    return foundSchema.parse(await this.#run(FIND_SCRIPT, { picture, width, height, max: MAX_MARKS }));
  }

  /**
   * Where the element of a number is now.
   * @param typed a text that is to go into it: if the element is a list of choices, the choice is made
   * @throws Error if the page does not answer
   */
  async locate(picture: number, number: number, typed?: string): Promise<Located> {
    return locatedSchema.parse(
      await this.#run(LOCATE_SCRIPT, { picture, index: number - 1, typed: typed ?? null }),
    );
  }

  /** The page's text, from this character on. @throws Error if the page does not answer */
  async readText(from: number): Promise<PageText> {
    return pageTextSchema.parse(await this.#run(TEXT_SCRIPT, { from, max: MAX_TEXT_CHARACTERS }));
  }

  async #run(script: string, input: unknown): Promise<unknown> {
    const { frameTree } = await answered(this.#cdp.send("Page.getFrameTree"));
    const { executionContextId } = await answered(
      this.#cdp.send("Page.createIsolatedWorld", { frameId: frameTree.frame.id, worldName: WORLD }),
    );
    const { result, exceptionDetails } = await answered(
      this.#cdp.send("Runtime.evaluate", {
        expression: `(${script})(${JSON.stringify(input)})`,
        contextId: executionContextId,
        returnByValue: true,
        timeout: ANSWER_MS,
      }),
    );
    if (exceptionDetails) throw new Error(`the page can't be looked at: ${exceptionDetails.text}`);
    return result.value;
  }
}

function answered<T>(call: Promise<T>): Promise<T> {
  return withDeadline(call, ANSWER_MS + 1_000, "the page's answer");
}
