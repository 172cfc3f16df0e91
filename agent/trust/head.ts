/** Finds in the text of a skill, a command or an agent the lines that a person must see before trusting it. Pure. */

/** In the text's order: its front matter, then the shell commands that run when the text is used. */
export function headLines(text: string): string[] {
  return [...frontMatter(text), ...commandsIn(text).map((command) => `runs ${command}`)];
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

function commandsIn(text: string): string[] {
  const commands: string[] = [];
  for (let at = text.indexOf("!`"); at >= 0; ) {
    const end = text.indexOf("`", at + 2);
    if (end < 0) break;
    if (end > at + 2) commands.push(text.slice(at, end + 1));
    at = text.indexOf("!`", end > at + 2 ? end + 1 : end);
  }
  for (let at = text.indexOf("```!"); at >= 0; ) {
    const end = text.indexOf("```", at + 4);
    commands.push(text.slice(at, end < 0 ? text.length : end + 3));
    at = end < 0 ? -1 : text.indexOf("```!", end + 3);
  }
  return commands;
}
