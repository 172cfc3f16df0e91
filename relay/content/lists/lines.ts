/** Lists of lines as messages: never longer than Discord takes, and honest about what is left out. Pure. */

/** Below Discord's 2,000, with room for what stands around a list. */
export const MAX_LIST_UNITS = 1_900;

/**
 * As many whole lines as fit into one message; the last line tells how many do not.
 * @param more what the last line says after the number, such as `more; /inbox shows them`.
 */
export function fitLines(head: string, lines: readonly string[], more = "more"): string {
  const whole = [head, ...lines].join("\n");
  if (whole.length <= MAX_LIST_UNITS) return whole;
  const kept: string[] = [head];
  // The last line is never longer than this.
  let units = head.length + `\n… and ${lines.length} ${more}`.length;
  for (const line of lines) {
    units += line.length + 1;
    if (units > MAX_LIST_UNITS) break;
    kept.push(line);
  }
  return [...kept, `-# … and ${lines.length - kept.length + 1} ${more}`].join("\n");
}

/** Blocks of lines in as few messages as they need, at most `maxMessages`; what is left out is counted. */
export function joinBlocks(blocks: readonly string[], maxMessages: number): string[] {
  const messages: string[] = [];
  for (const [index, block] of blocks.entries()) {
    const last = messages.at(-1);
    if (last !== undefined && last.length + block.length + 1 <= MAX_LIST_UNITS) {
      messages[messages.length - 1] = `${last}\n${block}`;
    } else if (messages.length < maxMessages) messages.push(block);
    else return [...messages.slice(0, -1), `${last ?? ""}\n-# … and ${blocks.length - index} more`];
  }
  return messages;
}
