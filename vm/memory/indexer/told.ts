/** The words of a transcript's line that can be found: what people and the agent said, and which calls it made. Pure. */
import type { ThreadEvent } from "../../../shared/agent/events.ts";
import { findEvent } from "../../../shared/agent/find-event.ts";
import type { Block } from "../../../shared/agent/values.ts";
import type { IndexedLine } from "../../store/search-index.ts";

/** A longer text is several rows of the same line. */
const MAX_ROW = 2_000;
/** A line's place, time and type come first. */
const MAX_HEAD = 500;
const MAX_TEXT = 64 * 1024;

export interface Told {
  tells: IndexedLine[];
  /** The message whose words go. */
  removes?: string;
}

/** Most lines tell how the work is done: they are not even read as JSON. */
const TYPES =
  /"type":"(?:user_message|message_edit|message_withdraw|initial_message|agent_message|message_sent|tool_call|compaction_update)"/;

export function toldBy(line: string): Told {
  if (!TYPES.test(line.slice(0, MAX_HEAD))) return { tells: [] };
  const event = findEvent(line);
  if (!event) return { tells: [] };
  switch (event.type) {
    case "user_message":
      return { tells: rowsOf(event, textOf(event.content), event.messageId) };
    case "message_edit":
      if (!event.applied) return { tells: [] };
      return { tells: rowsOf(event, textOf(event.content), event.messageId), removes: event.messageId };
    case "message_withdraw":
      return event.applied ? { tells: [], removes: event.messageId } : { tells: [] };
    case "initial_message":
    case "agent_message":
    case "message_sent":
      return { tells: rowsOf(event, event.text) };
    case "tool_call":
      return { tells: rowsOf(event, event.title) };
    case "compaction_update":
      return { tells: rowsOf(event, event.summary ?? "") };
    default:
      return { tells: [] };
  }
}

function rowsOf({ seq, ts }: Pick<ThreadEvent, "seq" | "ts">, text: string, ref?: string): IndexedLine[] {
  const rows: IndexedLine[] = [];
  const base = { line: seq, at: Date.parse(ts), ref };
  let row = "";
  for (const line of text.slice(0, MAX_TEXT).split("\n")) {
    for (let from = 0; from === 0 || from < line.length; from += MAX_ROW) {
      const piece = line.slice(from, from + MAX_ROW);
      if (row.length + piece.length > MAX_ROW && row.trim() !== "") {
        rows.push({ ...base, text: row });
        row = "";
      }
      row += `${row === "" ? "" : "\n"}${piece}`;
    }
  }
  if (row.trim() !== "") rows.push({ ...base, text: row });
  return rows;
}

function textOf(content: readonly Block[]): string {
  return content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
}
