/** Entries → pages: what each message of an agent thread says now. Pure. */
import type { EventOf } from "../../../shared/agent/events.ts";
import type { Live } from "../../../shared/agent/files.ts";
import { type Change, linesText } from "../../../shared/agent/outcome.ts";
import { REST_TEXTS, type TurnRest } from "../../../shared/agent/turn-rest.ts";
import { formatThousands } from "../../../shared/format-count.ts";
import type { Button, Select } from "../../actions/frame/controls.ts";
import { stop } from "../../actions/stop.ts";
import { findMessageId } from "../../sidecar/message-ids.ts";
import {
  changesButtons,
  diffButton,
  GO_ON_BUTTON,
  memoryButtons,
  outsideButtons,
  THREAD_BUTTONS,
} from "../buttons.ts";
import type { Page } from "../content.ts";
import { formatDuration } from "../texts.ts";
import { activityText, previewLines } from "./activity.ts";
import { askKey, askText, who } from "./ask.ts";
import { askControls } from "./ask-controls.ts";
import type { Activity, Ask, Entry, Plain, Remark, Skipped, TurnEnd, Words } from "./entries.ts";
import { initialText } from "./initial.ts";
import { clipMarkdown, codeBlock, inline, withoutFolders } from "./inline.ts";
import { MAX_MESSAGE_UNITS } from "./split.ts";

/** A turn that needs no longer than this shows no activity, only its words. */
const QUICK_TURN_MS = 2_000;
/** A page of words with what the turn took below it. */
const MAX_PAGE_UNITS = MAX_MESSAGE_UNITS + 40;

export interface RenderOptions {
  /** The Discord user who started the thread, if one did: who is asked and told of failures. */
  starter: string | undefined;
  /** The directory that the agent works in. */
  where: string | undefined;
  /** What the agent is writing this moment. */
  live: Live | undefined;
  /** The entry below which the thread's buttons stand. */
  carrier: Entry | undefined;
  /** The turn that goes on. */
  turnId: string | undefined;
}

/**
 * Whether an entry is worth the thread's buttons: below an ask stands what decides it, and nothing else. An answer or a
 * notice is not worth the two edits.
 */
export function mayCarry(entry: Entry): boolean {
  if (entry.kind === "activity") return entry.turnId !== "";
  if (entry.kind === "words") return entry.end !== undefined;
  return entry.kind === "end" || (entry.kind === "remark" && entry.event.type === "failure");
}

/** What stays below an entry when the thread's buttons are gone. */
export function ownButtons(entry: Entry): readonly Button[] {
  if (entry.kind === "remark" && entry.event.type === "failure") return GO_ON_BUTTON;
  const end = entry.kind === "words" || entry.kind === "end" ? entry.end : undefined;
  if (!end) return [];
  const kept = keptTurn(entry);
  if (kept !== undefined) return changesButtons(kept);
  const isKnown = end.changes !== undefined && end.changes.problem === undefined;
  return end.change.paths.size > 0 && !isKnown ? diffButton(entry.since) : []; // its edits at least
}

/** The turn that ended with this entry, if git keeps what it changed. */
export function keptTurn(entry: Entry): string | undefined {
  const changes = entry.kind === "words" || entry.kind === "end" ? entry.end?.changes : undefined;
  return changes && changes.files > 0 ? changes.turnId : undefined;
}

function buttonsBelow(entry: Entry, { carrier, turnId }: RenderOptions): readonly Button[] {
  if (entry !== carrier) return ownButtons(entry);
  const isOn = turnId !== undefined && entry.kind === "activity" && entry.turnId === turnId;
  const stopIt = isOn ? stop.buttons({ turnId }, "Stop", "danger") : [];
  return [...ownButtons(entry), ...stopIt, ...THREAD_BUTTONS];
}

type TurnChanges = NonNullable<TurnEnd["changes"]>;

/** The messages of an entry, in order. */
export function renderEntry(entry: Entry, options: RenderOptions): Page[] {
  switch (entry.kind) {
    case "activity":
      return [activityPage(entry, options)];
    case "words":
      return wordsPages(entry, buttonsBelow(entry, options));
    case "ask":
      return [askPage(entry, options)];
    case "end":
      return [
        page(`e${entry.seq}`, endText(entry.end), {
          isSilent: isQuiet(entry.end),
          isSealed: !entry.end.isUnsure,
          buttons: buttonsBelow(entry, options),
        }),
      ];
    case "initial":
      return [page(`b${entry.seq}`, initialText(entry), { isSealed: entry.isSealed })];
    case "remark":
      return [remarkPage(entry, options)];
    case "plain":
      return [plainPage(entry)];
    case "skipped":
      return [page(`g${entry.seq}`, skippedText(entry))];
  }
}

/** The number of messages that {@link renderEntry} makes of an entry, give or take the line below last words. */
export function messagesOf(entry: Entry): number {
  if (entry.kind === "words") return entry.pages.length;
  return entry.kind === "skipped" ? entry.messages : 1;
}

function skippedText({ messages }: Skipped): string {
  return `-# ⋯ ${messages} messages are left out here, as more waited than Discord takes. \`/export\` has all of them.`;
}

function page(
  key: string,
  text: string,
  more: {
    buttons?: readonly Button[];
    selects?: readonly Select[];
    isAside?: boolean;
    isSealed?: boolean;
    isSilent?: boolean;
    presence?: Page["presence"];
    notBefore?: number;
    mention?: string | undefined;
  } = {},
): Page {
  const {
    buttons = [],
    selects = [],
    isAside = false,
    isSealed = true,
    isSilent = true,
    presence = "wanted",
    notBefore = 0,
    mention,
  } = more;
  // Whatever had to be escaped in it: Discord takes no longer one, and trims it.
  const fitting = clipMarkdown(text.trim(), MAX_PAGE_UNITS) || "-# …";
  const base = { key, text: fitting, buttons, selects, isSealed, isSilent, presence, notBefore, isAside };
  return mention === undefined ? base : { ...base, mention };
}

/** It must be there for whoever has to decide: deleted by hand, it is sent anew below whatever stands there by then. */
function askPage(entry: Ask, { starter, where }: RenderOptions): Page {
  const { text, isClipped } = askText(entry, { mention: starter, where });
  return page(askKey(entry), text, {
    ...askControls(entry, isClipped),
    isSealed: entry.response !== undefined,
    isSilent: false,
    isAside: true,
    mention: starter,
  });
}

function activityPage(entry: Activity, options: RenderOptions): Page {
  const { live } = options;
  const { isSealed, seq, turnId, lines } = entry;
  const isRunning = !isSealed || lines.isRunning;
  const preview = isSealed || live?.turnId !== turnId ? [] : previewLines(live);
  const isEmpty = lines.count === 0 && preview.length === 0;
  const { thinksSince } = lines;
  return page(`t${seq}`, isEmpty ? "-# …" : activityText(lines, preview, live?.step), {
    isSealed: !isRunning && entry !== options.carrier,
    buttons: buttonsBelow(entry, options),
    presence: isEmpty ? "unwanted" : "wanted",
    notBefore: thinksSince === undefined ? 0 : thinksSince + QUICK_TURN_MS,
  });
}

function wordsPages({ seq, pages, isFinal, end }: Words, buttons: readonly Button[]): Page[] {
  const foot = end ? endText(end) : "";
  const last = pages.at(-1) ?? "";
  // How it went stands below the last words, in the same message if it fits.
  const texts =
    foot === ""
      ? pages
      : last !== "" && last.length + foot.length + 1 <= MAX_PAGE_UNITS
        ? [...pages.slice(0, -1), `${last}\n${foot}`]
        : [...pages, foot];
  const isLast = (i: number) => i === texts.length - 1;
  return texts.map((each, i) =>
    page(`w${seq}.${i}`, each, {
      isSilent: !isFinal || !isLast(i),
      buttons: isLast(i) ? buttons : [],
      isSealed: !isLast(i) || !end?.isUnsure,
    }),
  );
}

/** A turn that a person ended themselves is no news to them. */
function isQuiet({ stopReason }: TurnEnd): boolean {
  return stopReason === "cancelled" || stopReason === "interrupted";
}

function endText(end: TurnEnd): string {
  const parts = [
    end.steps === 0 ? "" : `${end.steps} ${end.steps === 1 ? "step" : "steps"}`,
    (end.durationMs ?? 0) < 1_000 ? "" : formatDuration((end.durationMs ?? 0) / 1_000),
    end.tokens === undefined ? "" : `${formatThousands(end.tokens)} tokens`,
    (end.costUsd ?? 0) < 0.005 ? "" : `$${(end.costUsd ?? 0).toFixed(2)}`,
    end.contextPercent === undefined ? "" : `${end.contextPercent} % of context`,
    end.changes?.problem === undefined && end.changes ? changesText(end.changes) : filesText(end.change),
    end.changes?.problem === undefined ? "" : `no undo: ${inline(withoutFolders(end.changes.problem), 150)}`,
  ];
  const figures = parts.filter((part) => part !== "").join(" · ");
  const how =
    end.stopReason === "end_turn" && end.error !== undefined
      ? "⚠️"
      : end.rest
        ? `${REST_MARKS[end.rest]} ${REST_TEXTS[end.rest]}.`
        : HOW[end.stopReason];
  const error = end.error === undefined || isQuiet(end) ? "" : ` ${inline(end.error, 500)}`;
  return `${how === "" ? "" : `${how}${error}\n`}-# ${figures === "" ? "done" : figures}`;
}

function filesText(change: Change): string {
  const count = change.paths.size;
  return count === 0 ? "" : `${countOf(count)} ${linesText(change)}`.trim();
}

function changesText({ files, added, removed, othersCount = 0 }: TurnChanges): string {
  const own = files === 0 ? "" : `${countOf(files)} +${added} −${removed}`;
  const others = othersCount === 0 ? "" : `${countOf(othersCount)} changed by others too`;
  return [own, others].filter((part) => part !== "").join(" · ");
}

function countOf(files: number): string {
  return `${files} ${files === 1 ? "file" : "files"}`;
}

const REST_MARKS: Record<TurnRest, string> = { paused: "⏸", limit: "⏳", provider: "⏳", ask: "⏸" };

const HOW: Record<TurnEnd["stopReason"], string> = {
  end_turn: "",
  cancelled: "⏹ Stopped.",
  interrupted: "⚡ Cut off.",
  error: "⚠️ The turn failed:",
  refusal: "⚠️ The model refused.",
  max_tokens: "⚠️ The answer reached its longest length.",
  max_turn_requests: "⚠️ The turn reached its limit of calls.",
};

/** Tells the person who pressed, where they look, with a button that takes it back. */
function undoPage(event: EventOf<"undo">): Page {
  const { seq, status, by, files, restored, left, leftCount, message = "", undoId } = event;
  const key = `z${seq}`;
  if (status === "refused")
    return page(key, `⚠️ Nothing was undone: ${inline(withoutFolders(message), 500)}.`);
  const head =
    files === 0
      ? "↩ Nothing was undone"
      : `↩ Undone by ${who(by)}: ${countOf(files)} as before · ${pathList(restored, files)}`;
  const stay =
    leftCount === 0
      ? ""
      : `\nLeft as they are: ${left
          .slice(0, MAX_NAMED)
          .map(({ path, reason }) => `${inline(path, 80)} (${inline(reason, 60)})`)
          .join(", ")}${moreOf(leftCount)}`;
  return page(key, head + stay, {
    buttons: files === 0 ? [] : changesButtons(undoId, "Undo the undo"),
  });
}

const WROTE = { append: "Added to", replace: "Wrote", remove: "Removed" };

/** A write to memory is for all later conversations, so people can take it back where they see it. */
function memoryPage({ seq, writeId, path, how, text }: EventOf<"memory_write">): Page {
  const block = text.trim() === "" ? "" : `\n${codeBlock(text, 800).text}`;
  return page(`y${seq}`, `🧠 ${WROTE[how]} ${inline(path, 100)}${block}`, {
    buttons: memoryButtons(writeId),
  });
}

const MAX_NAMED = 8;

function pathList(paths: readonly string[], count: number): string {
  const named = paths.slice(0, MAX_NAMED).map((path) => inline(path, 80));
  return named.join(", ") + moreOf(count);
}

function moreOf(count: number): string {
  return count > MAX_NAMED ? ` and ${count - MAX_NAMED} more` : "";
}

function plainPage({ seq, remark: { title, text } }: Plain): Page {
  const below = text === "" ? "" : `\n-# ${inline(text, 500)}`;
  return page(`n${seq}`, `⚠️ ${inline(title, 300)}${below}`);
}

function remarkPage(entry: Remark, options: RenderOptions): Page {
  const { seq, event } = entry;
  const { starter } = options;
  switch (event.type) {
    case "failure": {
      const whom = starter === undefined ? "" : `<@${starter}> `;
      return page(`f${seq}`, `${whom}⚠️ **The agent can't go on.** ${inline(event.message, 1_000)}`, {
        buttons: buttonsBelow(entry, options),
        isSilent: false,
        mention: starter,
      });
    }
    case "file_sent": {
      const { name, caption } = event;
      const words = caption === undefined || caption.trim() === "" ? "" : ` ${inline(caption, 500)}`;
      return { ...page(`s${seq}`, `📎 ${inline(name, 150)}${words}`, { isSilent: false }), file: name };
    }
    case "memory_write":
      return memoryPage(event);
    case "undo":
      return undoPage(event);
    case "control":
      return page(
        `o${seq}`,
        `🔒 **Text from outside gets in**: ${inline(event.why, 200)}. From here on the agent asks about all that it does.`,
        { buttons: outsideButtons(seq) },
      );
    case "message_edit": {
      const replyTo = findMessageId(event.messageId);
      return {
        ...page(`x${seq}`, "-# The agent has read this already, as it was: write to it what is different."),
        ...(replyTo === undefined ? {} : { replyTo }),
      };
    }
    case "message_withdraw":
      return page(
        `x${seq}`,
        "-# The agent had read the message that was deleted just now: write to it what is different.",
      );
    case "user_message": {
      const text = event.content
        .map((block) => (block.type === "text" ? block.text : `[${block.type}]`))
        .join("\n");
      const from = event.fromNumber === undefined ? who(event.source) : `from #${event.fromNumber}`;
      return page(`u${seq}`, `-# ✉ ${from}\n${codeBlock(text, 1_500).text}`);
    }
    case "message_sent": {
      const to = event.number === undefined ? inline(event.threadId, 60) : `#${event.number}`;
      const waits = event.held ? " · waits for a person there" : "";
      return page(`m${seq}`, `-# ✉ to ${to}${waits}\n${codeBlock(event.text, 1_500).text}`);
    }
  }
}
