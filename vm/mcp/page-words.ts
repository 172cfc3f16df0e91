/** A browser's page as a model is told of it: all that the page says stands behind a mark. Pure. */
import { wordsOfMark } from "../../shared/browser/mark-words.ts";
import { chooseMark, OUTSIDE_NOTE, type Part, renderParts } from "../../shared/outside-text.ts";
import type { BrowserAnswer } from "../browser/door.ts";

/** Gives so many bytes of chance, in hexadecimal. */
type Chance = (bytes: number) => string;

const own = (text: string): Part => ({ kind: "own", text });
const outside = (text: string): Part => ({ kind: "outside", text });

/** @param from the character of the page's text at which `text` begins */
export function pageWords({ state, text }: BrowserAnswer, from: number, chance: Chance): string {
  const { status, url, title, note, picture, marks, scrolled } = state;
  const height = Math.round(scrolled.height);
  const parts = [
    own(
      `Picture ${picture}: ${status}, ${Math.round(scrolled.top)} of ${height} pixels down. ${OUTSIDE_NOTE}`,
    ),
    own("Address and title:"),
    outside(`${url}\n${title}`),
    ...(status === "starting" || status === "loading"
      ? [own("It is still on its way; browser_look looks again.")]
      : []),
    ...(note === null ? [] : [own("The browser says:"), outside(note)]),
    ...(marks.length === 0
      ? [own("Nothing in sight can be clicked.")]
      : [
          own("In sight, by number:"),
          outside(marks.map((mark) => `${mark.number} ${wordsOfMark(mark)}`).join("\n")),
        ]),
    ...(text === undefined ? [] : textParts(text, from)),
  ];
  return renderParts(parts, chooseMark(parts, chance));
}

function textParts({ text, length }: NonNullable<BrowserAnswer["text"]>, from: number): Part[] {
  if (text === "")
    return [own(length === 0 ? "The page has no text." : `The page's text has ${length} characters.`)];
  const end = from + text.length;
  const rest = end < length ? `; from: ${end} gives the next` : "";
  return [own(`The page's text, characters ${from} to ${end} of ${length}${rest}:`), outside(text)];
}

/** Why something was not done, in words that a page may have a part in. */
export function refusalWords(why: string, chance: Chance): string {
  const parts = [own(`The browser refused, and says why. ${OUTSIDE_NOTE}`), outside(why)];
  return renderParts(parts, chooseMark(parts, chance));
}
