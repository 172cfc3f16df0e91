/** What stands at a number of a browser's picture, in words that people and agents are shown. Pure. */
import type { Mark } from "./state.ts";

const MAX_TARGET = 80;

/** `link About us → /about`. */
export function wordsOfMark({ kind, text, to }: Omit<Mark, "number">): string {
  return [kind, ...(text === "" ? [] : [text]), ...(to === undefined ? [] : [`→ ${to}`])].join(" ");
}

/**
 * Where a link or a form leads, as short as it can be said: without what it shares with the page.
 * @param href absolute, as the page has it: text from outside
 * @returns undefined if it leads nowhere
 */
export function targetOf(href: string, page: string): string | undefined {
  if (!URL.canParse(href)) return undefined;
  const to = new URL(href);
  const isWeb = /^https?:$/.test(to.protocol);
  const isHere = isWeb && URL.canParse(page) && new URL(page).origin === to.origin;
  const path = `${to.pathname}${to.search}${to.hash}`;
  const whole = isHere ? path : `${isWeb ? "" : to.protocol}${to.host}${path}`;
  return whole.length > MAX_TARGET ? `${whole.slice(0, MAX_TARGET - 1)}…` : whole;
}

/**
 * Whether somebody who says what stands at a number was told this. Blanks, capitals, the number before it, and signs
 * that were written out for being hidden do not count.
 */
export function isSaidOf(mark: Mark, said: string): boolean {
  const words = plain(wordsOfMark(mark));
  return [words, plain(`${mark.number} ${wordsOfMark(mark)}`)].includes(plain(said));
}

function plain(text: string): string {
  const seen = text.replace(/\u27e8U\+[0-9A-F]+\u27e9/g, "").replaceAll("\\", "");
  return seen.replace(/[^\p{L}\p{M}\p{N}\p{P}\p{S}]/gu, "").toLowerCase();
}
