/** What requests bring to a run: the text that goes in behind the job's own words. */
import * as z from "zod";
import { OUTSIDE_NOTE, type Part, renderInline, renderParts } from "../../shared/outside-text.ts";
import { fillTemplate, parseBody } from "./body.ts";
import { renderInTurns } from "./render.ts";

const broughtSchema = z.object({
  text: z.string(),
  /** It has text from outside in it: where that came from. */
  marks: z.string().optional(),
  /** All of it, if the text has a part alone. */
  file: z.object({ name: z.string(), text: z.string() }).optional(),
});
export type Brought = z.output<typeof broughtSchema>;

/** Reads what a run's row keeps. */
export function parseBrought(body: string): Brought {
  return broughtSchema.parse(JSON.parse(body));
}

/**
 * The bodies as parts: what the template takes of each, or all of it.
 * @throws AppError `invalid_request` if the template does not fit one of them
 */
export function partsOf(bodies: readonly Buffer[], template: string | undefined): Part[] {
  return bodies.flatMap((body, index): Part[] => {
    const parts: Part[] =
      template === undefined
        ? [{ kind: "outside", text: body.toString() }]
        : fillTemplate(template, parseBody(body));
    const count: Part = { kind: "own", text: `Request ${index + 1} of ${bodies.length}:` };
    return bodies.length === 1 ? parts : [count, ...parts];
  });
}

/** The text itself, each line behind the mark. */
export async function bringRaw(
  parts: readonly Part[],
  mark: string,
  hook: string,
  run: string,
): Promise<Brought> {
  const { text, isCut } = renderInline(parts, mark);
  const marks = `a request of the hook ${hook}`;
  if (!isCut) return { text: `${OUTSIDE_NOTE}\n${text}`, marks };
  const cut = "This is its beginning; the attached file has all of it, each line marked.";
  const file = { name: `${run}.txt`, text: `${OUTSIDE_NOTE}\n${await renderInTurns(parts, mark)}\n` };
  return { text: `${OUTSIDE_NOTE}\n${text}\n${cut}`, marks, file };
}

/** Text of a program of ours. */
export function bringOwn(parts: readonly Part[], run: string): Brought {
  const own = parts.map(({ text }): Part => ({ kind: "own", text }));
  const { text, isCut } = renderInline(own, "");
  if (!isCut) return { text };
  const file = { name: `${run}.txt`, text: renderParts(own, "") };
  return { text: `${text}\nThis is its beginning; the attached file has all of it.`, file };
}

/** What the reader made of it: no word of the text is in it. */
export function bringRead(reading: { answer: object } | { problem: string }, count: number): Brought {
  const came = count === 1 ? "A request came" : `${count} requests came together`;
  if ("problem" in reading)
    return {
      text: `${came}. A reader was to sort the text from outside, and could not: ${reading.problem}.`,
    };
  return {
    text: `${came}. A reader without tools has sorted the text from outside: ${JSON.stringify(reading.answer)}`,
  };
}
