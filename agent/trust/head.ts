/** Finds in the text of a skill, a command or an agent the lines that a person must see before trusting it. Pure. */

/** In the text's order: its front matter, then the shell commands that run when the text is used. */
export function headLines(text: string): string[] {
  return [...frontMatter(text), ...commandsIn(text).map((command) => `runs ${command}`)];
}

/** All of a text, line by line. */
export function textLines(text: string): string[] {
  return text.trim() === "" ? [] : text.trimEnd().split(/\r\n|\r|\n/);
}

/** More than the engine takes for it, never less. */
function frontMatter(text: string): string[] {
  const body = text.trimStart();
  if (!body.startsWith("---")) return [];
  const atLine = /[\r\n]---/.exec(body);
  const end = atLine ? atLine.index : body.lastIndexOf("---");
  if (end < 3) return [];
  return body
    .slice(3, end)
    .split(/\r\n|\r|\n/)
    .filter((line) => line.trim() !== "");
}

/** All that the engine may take for a command, wherever it takes one to begin: those found may overlap. */
function commandsIn(text: string): string[] {
  const inline = spans(text, "!`", "`").flatMap((span) => (span.end > span.begin + 3 ? [span] : []));
  const blocks = spans(text, "```!", "```").map((span) => ({ ...span, end: span.end || text.length }));
  return [...inline, ...blocks].map(({ begin, end }) => text.slice(begin, end));
}

/** Each place where `open` stands, up to the next `close` behind it; its end is 0 if there is none. */
function spans(text: string, open: string, close: string): { begin: number; end: number }[] {
  const found: { begin: number; end: number }[] = [];
  let next = 0;
  for (let begin = text.indexOf(open); begin >= 0; begin = text.indexOf(open, begin + open.length)) {
    const from = begin + open.length;
    if (next >= 0 && next < from) next = text.indexOf(close, from);
    found.push({ begin, end: next < 0 ? 0 : next + close.length });
  }
  return found;
}
