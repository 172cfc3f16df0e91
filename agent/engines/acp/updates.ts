/** Makes lines for the runner of an agent's updates: it joins pieces of text, and tells each call once. Pure but for time. */
import { relative } from "node:path";
import type { ToolContent } from "../../../shared/agent/values.ts";
import { cleanTitle } from "../../../shared/title.ts";
import { type AcpCall, contentSchema, type Update } from "./messages.ts";
import type { FromAdapter, Said } from "./protocol.ts";
import { findModeOption } from "./session-modes.ts";

const MAX_TITLE = 200;
/** Opencode's placeholder title for a conversation that it has not named; a time follows it. */
const BARE_TITLE = /^(?:new|child) session\b/i;
/** A longer text is told in parts. */
const MAX_TEXT = 256 * 1024;
const MAX_LIVE = 1_000;
/** A call's output is cut after so many characters. */
const MAX_OUTPUT = 256 * 1024;
/** Calls that are open at once; one that begins more is none of those that we know. */
const MAX_OPEN = 1_000;

interface KnownCall {
  /** In the transcript. Agents may use an id again in a later turn. */
  id: string;
  said: AcpCall;
  isTold: boolean;
  status: "pending" | "in_progress" | "completed" | "failed";
  content: ToolContent[];
}

export class Updates {
  readonly #dir: string;
  readonly #calls = new Map<string, KnownCall>();
  readonly #used = new Map<string, number>();
  #title = "";
  #text: { isThought: boolean; messageId: string | undefined; text: string } | undefined;

  /** @param dir the thread's directory: paths in it are told without it */
  constructor(dir: string) {
    this.#dir = dir;
  }

  /** The lines of an update, in their order. */
  take(update: Update): FromAdapter[] {
    switch (update.sessionUpdate) {
      case "agent_message_chunk":
      case "agent_thought_chunk":
        return this.#piece(update.sessionUpdate === "agent_thought_chunk", update);
      case "tool_call":
        return [...this.flush(), ...this.#call(update, true)];
      case "tool_call_update":
        return [...this.flush(), ...this.#call(update, false)];
      case "plan":
        return [...this.flush(), { type: "plan", entries: update.entries.map(withoutRest) }];
      case "usage_update": {
        const { used, size, cost } = update;
        return [{ type: "usage", used, size, ...(cost?.currency === "USD" && { costUsd: cost.amount }) }];
      }
      case "session_info_update":
        return this.#named(update.title ?? "");
      case "current_mode_update":
        return [{ type: "mode", modeId: update.currentModeId }];
      case "config_option_update": {
        const mode = findModeOption(update.configOptions);
        return mode?.currentValue === undefined ? [] : [{ type: "mode", modeId: mode.currentValue }];
      }
      case "compaction_update": {
        const { status } = update;
        const known = status === "completed" || status === "failed" ? status : "in_progress";
        return [...this.flush(), { type: "compaction", status: known }];
      }
      case "user_message_chunk":
        return [];
    }
  }

  /** Passes on a title if it is new; agents send the same one again and again. */
  #named(text: string): FromAdapter[] {
    const title = cleanTitle(text);
    if (title === "" || title === this.#title || BARE_TITLE.test(title)) return [];
    this.#title = title;
    return [{ type: "title", title }];
  }

  /** The text so far, which something else follows. */
  flush(): FromAdapter[] {
    const { text = "", isThought = false } = this.#text ?? {};
    this.#text = undefined;
    return text.trim() === "" ? [] : [{ type: "text", isThought, text }];
  }

  /** The end of the text so far; undefined if none is being written. */
  live(): Said<"live"> | undefined {
    if (!this.#text) return undefined;
    const { isThought, text } = this.#text;
    return { type: "live", isThought, text: text.slice(-MAX_LIVE) };
  }

  /** A call has begun and has not ended. */
  get isCalling(): boolean {
    return [...this.#calls.values()].some(({ status }) => !isOver(status));
  }

  /** The call that the agent asks about, told first if nothing was told of it. */
  asked(call: AcpCall): { lines: FromAdapter[]; call: Said<"call"> } {
    const lines = [...this.flush(), ...this.#call(call, false)];
    const known = this.#calls.get(call.toolCallId);
    if (known && !known.isTold) lines.push(this.#tell(known));
    return { lines, call: this.#lineOf(known ?? this.#begin(call)) };
  }

  /** The turn is over: calls that have not ended are forgotten. */
  end(): FromAdapter[] {
    const lines = this.flush();
    for (const known of this.#calls.values()) if (!known.isTold) lines.push(this.#tell(known));
    this.#calls.clear();
    return lines;
  }

  #piece(
    isThought: boolean,
    { messageId, content }: Extract<Update, { sessionUpdate: "agent_message_chunk" | "agent_thought_chunk" }>,
  ): FromAdapter[] {
    const piece = content.type === "text" ? (content.text ?? "") : `[${content.type}]`;
    const now = this.#text;
    const isSame =
      now !== undefined &&
      now.isThought === isThought &&
      (messageId === undefined || now.messageId === undefined || messageId === now.messageId) &&
      now.text.length < MAX_TEXT;
    const before = isSame ? [] : this.flush();
    this.#text = { isThought, messageId, text: (isSame ? now.text : "") + piece };
    return before;
  }

  #call(said: AcpCall, isFirst: boolean): FromAdapter[] {
    const before = this.#calls.get(said.toolCallId);
    const isAgain = before !== undefined && isFirst && isOver(before.status);
    const known = before && !isAgain ? before : this.#begin(said);
    known.said = merged(known.said, said);
    if (said.content) known.content = contentOf(said.content, this.#dir);
    const { status = known.status } = said;
    // One that only waits says more of itself soon: its command, its file.
    const isBare = status === "pending" && isEmpty(known.said.rawInput);
    const lines: FromAdapter[] = known.isTold || isBare ? [] : [this.#tell(known)];
    if (status === "pending" || status === known.status || isOver(known.status)) return lines;
    known.status = status;
    lines.push({
      type: "call_update",
      id: known.id,
      status,
      ...(isOver(status) && { content: outputOf(known) }),
    });
    return lines;
  }

  #begin(said: AcpCall): KnownCall {
    const count = (this.#used.get(said.toolCallId) ?? 0) + 1;
    if (this.#calls.size >= MAX_OPEN) this.#calls.clear();
    if (this.#used.size >= 10 * MAX_OPEN) this.#used.clear();
    this.#used.set(said.toolCallId, count);
    const id = count === 1 ? said.toolCallId : `${said.toolCallId}~${count}`;
    const known: KnownCall = { id, said, isTold: false, status: "pending", content: [] };
    this.#calls.set(said.toolCallId, known);
    return known;
  }

  #tell(known: KnownCall): FromAdapter {
    known.isTold = true;
    return this.#lineOf(known);
  }

  #lineOf({ id, said }: KnownCall): Said<"call"> {
    const { rawInput = {}, locations } = said;
    const name = nameOf(said);
    const shown = locations.map(({ path, line }) => ({
      path: within(path, this.#dir),
      ...(line !== undefined && { line }),
    }));
    return {
      type: "call",
      id,
      name,
      title: titleOf(said.title ?? name),
      kind: said.kind ?? "other",
      input: rawInput,
      ...(shown.length > 0 && { locations: shown }),
    };
  }
}

/** The tool's own name, as far as the agent says it apart from its title, which the model may have chosen. */
export function nameOf({ name, kind, _meta }: AcpCall): string {
  return _meta?.claudeCode?.toolName ?? name ?? kind ?? "tool";
}

function merged(before: AcpCall, said: AcpCall): AcpCall {
  const given = Object.entries(said).filter(([, value]) => value !== undefined && value !== null);
  const { locations } = said;
  return {
    ...before,
    ...(Object.fromEntries(given) as AcpCall),
    locations: locations.length > 0 ? locations : before.locations,
    rawInput: isEmpty(said.rawInput) ? before.rawInput : said.rawInput,
  };
}

function outputOf({ content, said: { rawOutput } }: KnownCall): ToolContent[] {
  if (content.length > 0 || rawOutput === undefined || rawOutput === null) return content;
  const text = typeof rawOutput === "string" ? rawOutput : textIn(rawOutput);
  return [{ type: "content", content: { type: "text", text: text.slice(0, MAX_OUTPUT) } }];
}

/** Several agents wrap what was printed in a field of its own. */
function textIn(output: unknown): string {
  const fields = typeof output === "object" && output !== null ? (output as Record<string, unknown>) : {};
  const text = ["formatted_output", "output", "aggregated_output", "stdout"]
    .map((name) => fields[name])
    .find((value) => typeof value === "string");
  return typeof text === "string" ? text : JSON.stringify(output);
}

function contentOf(content: readonly unknown[], dir: string): ToolContent[] {
  return content.flatMap((one): ToolContent[] => {
    const parsed = contentSchema.safeParse(one).data;
    if (parsed === undefined) return []; // such as a terminal, which we do not give it
    if (parsed.type === "diff") {
      const { path, oldText, newText } = parsed;
      return [{ type: "diff", path: within(path, dir), oldText: oldText ?? null, newText }];
    }
    const { type, text = "" } = parsed.content;
    const shown = type === "text" ? text.slice(0, MAX_OUTPUT) : `[${type}]`;
    return [{ type: "content", content: { type: "text", text: shown } }];
  });
}

function withoutRest<E extends { content: string; priority: string; status: string }>({
  content,
  priority,
  status,
}: E): Pick<E, "content" | "priority" | "status"> {
  return { content, priority, status };
}

function isOver(status: KnownCall["status"]): boolean {
  return status === "completed" || status === "failed";
}

function isEmpty(input: unknown): boolean {
  if (input === undefined || input === null || input === "") return true;
  return typeof input === "object" && Object.keys(input).length === 0;
}

function titleOf(text: string): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > MAX_TITLE ? `${line.slice(0, MAX_TITLE - 1)}…` : line;
}

function within(path: string, dir: string): string {
  const short = relative(dir, path);
  return short === "" || short.startsWith("..") || !path.startsWith("/") ? path : short;
}
