/** What is asked about, in full view: the command, the change, the plan, with what eyes would miss written out. Pure. */
import type { DetailPart } from "../../../shared/agent/detail.ts";
import type { EventOf } from "../../../shared/agent/events.ts";
import { writeOutHidden } from "../../../shared/clean-text.ts";
import { clipMarkdown, codeBlock, inline } from "./inline.ts";

type Permission = EventOf<"permission_request">;

/** So little room is worth no block of its own. */
const MIN_BLOCK_UNITS = 60;
/** The most of a title that an ask's head shows, in UTF-16 code units. */
export const MAX_TITLE_UNITS = 220;

/**
 * The parts as code blocks of at most `max` units together.
 * @returns `isClipped` if a person does not see all of it here.
 */
export function renderParts(parts: readonly DetailPart[], max: number): { text: string; isClipped: boolean } {
  const blocks: string[] = [];
  let room = max;
  let isClipped = false;
  for (const { name, language, text, wholeBytes } of parts) {
    if (text.trim() === "" && name === "") continue;
    const head = name === "" ? "" : `-# ${inline(name, 60)}\n`;
    if (room < MIN_BLOCK_UNITS + head.length) {
      isClipped = true;
      break;
    }
    const block = codeBlock(text, room - head.length, language, wholeBytes);
    blocks.push(head + block.text);
    isClipped ||= block.isClipped;
    room -= head.length + block.text.length + 1;
  }
  return { text: blocks.join("\n"), isClipped };
}

/** All of it as plain text, for a file. */
export function plainParts(parts: readonly DetailPart[]): string {
  return parts
    .map(({ name, text }) =>
      name === "" ? writeOutHidden(text) : `${writeOutHidden(name)}:\n${writeOutHidden(text)}`,
    )
    .join("\n\n");
}

/** A line below it: where, for what, and why it is asked. */
export function circumstances(request: Permission, where: string | undefined): string {
  const { description, reason, agentId, title, trust } = request;
  // A longer title is not shown whole.
  const isTitled = title.length <= MAX_TITLE_UNITS && title.includes(description ?? "");
  const isSaid = description === undefined || trust || isTitled;
  const parts = [
    where === undefined ? "" : `in ${inline(where, 100)}`,
    agentId === undefined ? "" : "asked by a sub-agent",
    isSaid ? "" : inline(description, 200),
    reason === undefined ? "" : inline(reason, 200),
  ];
  const line = parts.filter((part) => part !== "").join(" · ");
  return line === "" ? "" : `-# ${clipMarkdown(line, 450)}`;
}
