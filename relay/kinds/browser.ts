/** A browser's thread: the page's picture is shown, and what people write opens, clicks or is typed. */
import type { OutputReply } from "../../shared/api.ts";
import { BrowserContent, PICTURE } from "../content/browser-content.ts";
import { findDeliveryMark } from "../delivery/delivery-mark.ts";
import { inputText, isTextFile } from "../discord/person-message.ts";
import type { LiveThread, LiveThreadOptions, RelayKind } from "./kind.ts";
import { openShown } from "./opening.ts";

/** Shortest time between two edits of the message, in milliseconds; each edit uploads a picture. */
const EDIT_MS = 3_000;

export const browser: RelayKind = {
  type: "browser",
  open,
  readMs: Number.POSITIVE_INFINITY,
  reading: {
    forwarded: inputText,
    isWords: isTextFile,
    takesFiles: false,
    leavesOut: () => true,
    leftOut: (hasOthers) => `Left out, only ${hasOthers ? "text and " : ""}text files can be typed`,
    nothing: "Only text can be typed into a page, or opened: a number, an address, words.",
  },
  inputsOf: async (_message, { texts }) => texts.map((text) => ({ text, enter: false })),
};

function open(options: LiveThreadOptions): LiveThread {
  const { thread } = options;
  const vm = options.vm.thread(thread.threadId);
  const log = options.log.child({ threadId: thread.threadId });
  const mark = findDeliveryMark(thread.delivery);
  const content = new BrowserContent(mark?.kind === "browser" ? mark : undefined);
  return openShown<OutputReply>(
    { ...options, log },
    {
      ...{ kind: browser, vm, content, mark, editIntervalMs: EDIT_MS },
      source: "since",
      find: ({ threads }) => threads[thread.threadId],
      readFile: (name) => (name === PICTURE ? vm.browser.findPicture() : vm.findAttachment(name)),
    },
  );
}
