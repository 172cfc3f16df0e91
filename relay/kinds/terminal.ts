/** A terminal's thread: its log is shown, and what people write is typed. */
import type { OutputReply } from "../../shared/api.ts";
import { LogContent } from "../content/log-content.ts";
import type { LogMark } from "../content/log-mark.ts";
import { findDeliveryMark } from "../delivery/delivery-mark.ts";
import type { DiscordMessage } from "../discord/message-schema.ts";
import { codeBlockOf, inputText, isTextFile } from "../discord/person-message.ts";
import type { VmThread } from "../sidecar/vm.ts";
import type { LiveThread, LiveThreadOptions, MessageInput, RelayKind } from "./kind.ts";
import { openShown } from "./opening.ts";

export const terminal: RelayKind = {
  type: "terminal",
  open: (options) => openAsLog(terminal, options),
  readMs: Number.POSITIVE_INFINITY,
  reading: {
    // The program is to get the very text.
    forwarded: inputText,
    isWords: isTextFile,
    takesFiles: false,
    leavesOut: () => true,
    leftOut: (hasOthers) =>
      `Left out, only ${hasOthers ? "text and " : ""}text files up to 256 KiB can be typed`,
    nothing: "Only text, and text files up to 256 KiB, can be typed into a thread.",
  },
  inputsOf: async (message, { texts }) =>
    texts.map((text, part) => typed(text, part === 0 && isWritten(message))),
};

/** Opens a thread that shows its log, as a terminal does. */
export function openAsLog(kind: RelayKind, options: LiveThreadOptions): LiveThread {
  const { thread } = options;
  const { threadId } = thread;
  const vm = options.vm.thread(threadId);
  const log = options.log.child({ threadId });
  const mark = findDeliveryMark(thread.delivery);
  const content = openLog({ ...options, log }, vm, mark?.kind === "log" ? mark : undefined);
  return openShown<OutputReply>(
    { ...options, log },
    {
      ...{ kind, vm, content, mark },
      source: "since",
      find: ({ threads }) => threads[threadId],
      onKey: () => content.noteKey(options.now()),
    },
  );
}

/** Goes on from the mark; from the log's start if there is none, or if it is of another version. */
function openLog(
  { thread, rows, isAnsi, log }: LiveThreadOptions,
  vm: VmThread,
  mark: LogMark | undefined,
): LogContent {
  const options = { thread, isAnsi, keys: rows.map(({ key }) => key), getThread: () => vm.get() };
  try {
    return new LogContent({ ...options, mark });
  } catch (error) {
    if (mark === undefined) throw error;
    log.warn({ err: error }, "the mark cannot be read; starting over");
    return new LogContent({ ...options, mark: undefined });
  }
}

/** @param isWritten whether it is a line or lines that a person wrote, no code block or file */
function typed(text: string, isWritten: boolean): MessageInput {
  const whole = text.replace(/\n$/, "");
  // A tab is no key that Discord's message box has: it was pasted there.
  return { text: whole, ...((!isWritten || /[\n\t]/.test(whole)) && { paste: true }) };
}

const isWritten = ({ content }: DiscordMessage) => content !== "" && codeBlockOf(content) === undefined;
