/** An agent's thread: its transcript is shown, and what people write are messages to it. */

import type { TranscriptReply } from "../../shared/agent/api.ts";
import { MAX_ATTACHMENT_BYTES } from "../../shared/agent/attachments.ts";
import { findDiscordId } from "../../shared/principal.ts";
import { TranscriptContent } from "../content/transcript/content.ts";
import { findDeliveryMark } from "../delivery/delivery-mark.ts";
import { type Attachment, isTextFile } from "../discord/person-message.ts";
import type { LiveThread, LiveThreadOptions, RelayKind } from "./kind.ts";
import { openShown } from "./opening.ts";

/** Steps come in bunches: at this pace a turn of a minute takes some 35 edits, and each step is seen within 2 s. */
const EDIT_MS = 1_800;

/** A longer text is a file for an agent: it reads what it needs of it, and its context stays short. */
const MAX_WORDS_BYTES = 64 * 1024;
const MAX_FILE_MIB = MAX_ATTACHMENT_BYTES / 1024 / 1024;

export const agent: RelayKind = {
  type: "agent",
  open,
  // What an edit shows is no older than a third of the time to the next one.
  readMs: EDIT_MS / 3,
  reading: {
    forwarded: asForwarded,
    isWords: (file) => isTextFile(file) && file.size <= MAX_WORDS_BYTES,
    takesFiles: true,
    leavesOut: (file) => !isSmall(file),
    leftOut: (hasOthers) =>
      `Left out, an agent takes ${hasOthers ? "words and " : ""}files up to ${MAX_FILE_MIB} MiB`,
    nothing:
      "An agent takes words and files, and this message holds neither: only Discord can show what is in it.",
  },
  inputsOf: async (_message, { texts, isPlain, rest }, attach) => {
    const attachments = await attach(rest.filter(isSmall));
    if (texts.length === 0 && attachments.length === 0) return [];
    return [{ text: texts.join("\n\n"), ...(isPlain && { plain: true }), attachments }];
  },
};

const isSmall = ({ size }: Attachment) => size <= MAX_ATTACHMENT_BYTES;

/** What a person forwarded: the agent is to know that they did not write it. */
export function asForwarded(text: string): string {
  return `Forwarded message:\n${text.replace(/^/gm, "> ")}`;
}

/** Its transcript says all that there is to say: the terminal, in which its runner works, is not shown. */
function open(options: LiveThreadOptions): LiveThread {
  const { thread } = options;
  const { threadId, createdBy } = thread;
  const vm = options.vm.thread(threadId);
  const log = options.log.child({ threadId });
  const mark = findDeliveryMark(thread.delivery);
  const content = new TranscriptContent({
    starter: findDiscordId(createdBy),
    where: thread.dir,
    isPrivate: thread.voice === "message",
    mark: mark?.kind === "transcript" ? mark : undefined,
    keys: options.rows.map(({ key }) => key),
  });
  return openShown<TranscriptReply>(
    { ...options, log },
    {
      ...{ kind: agent, vm, content, mark, editIntervalMs: EDIT_MS },
      source: "transcripts",
      find: ({ transcripts }) => transcripts[threadId],
      // What people may ask about later is known by its message.
      keepsMessages: true,
    },
  );
}
