/** What did not fit a message: the whole of it for one person, as text if that is short, as a file if not. */

import type { AskReply, DiffReply } from "../../shared/agent/api.ts";
import { detailParts } from "../../shared/agent/detail.ts";
import { writeOutHidden } from "../../shared/clean-text.ts";
import { plainParts, renderParts } from "../content/transcript/ask-detail.ts";
import { inline } from "../content/transcript/inline.ts";
import type { VmThread } from "../sidecar/vm.ts";
import { findAsk } from "./agent-forms.ts";

const MAX_UNITS = 1_800;
/** Enough for what a person reads; more would cost memory for nothing. */
const MAX_FILE_BYTES = 4 * 1024 * 1024;

export interface WholeReply {
  content: string;
  files: { attachment: Buffer; name: string }[];
}

/** An open ask with nothing cut that a file can hold. @throws AppError `ask_ended` */
export async function findWholeAsk(thread: VmThread, requestId: string): Promise<AskReply> {
  const { request, call, ...ask } = await findAsk(thread, requestId);
  return {
    ...ask,
    request: await thread.whole(request, MAX_FILE_BYTES),
    call: call && (await thread.whole(call, MAX_FILE_BYTES)),
  };
}

export function wholeAsk({ request, call }: AskReply): WholeReply {
  if (request.type === "elicitation_request") {
    const text = request.questions
      .map(({ question, options }) =>
        [
          question,
          ...options.map(({ label, description = "" }, i) => `${i + 1}. ${label}\n   ${description}`),
        ].join("\n"),
      )
      .join("\n\n");
    return whole("What the agent asks:", "question.txt", writeOutHidden(text), undefined);
  }
  const parts = detailParts(request, call ?? undefined);
  const isDiff = parts.some(({ language }) => language === "diff");
  const name = request.plan === undefined ? (isDiff ? "ask.diff" : "ask.txt") : "plan.md";
  return whole(inline(request.title, 400), name, plainParts(parts), renderParts(parts, MAX_UNITS));
}

/** More of a diff is not asked for. */
export const MAX_DIFF_BYTES = MAX_FILE_BYTES;

/** What a turn changed: in the message if it is short, else as a file. */
export function wholeDiff({ patch, fileCount, added, removed, isCut }: DiffReply): WholeReply {
  const count = `${fileCount} ${fileCount === 1 ? "file" : "files"} +${added} −${removed}`;
  const head = `**${count}**${isCut ? `\nThese are the first ${MAX_DIFF_BYTES} bytes of it.` : ""}`;
  const part = { name: "", language: "diff", text: patch };
  return whole(head, "turn.diff", writeOutHidden(patch), renderParts([part], MAX_UNITS));
}

/** @param shown the same as markdown, if there is a form of it. */
export function whole(
  head: string,
  name: string,
  text: string,
  shown: { text: string; isClipped: boolean } | undefined,
): WholeReply {
  if (shown && !shown.isClipped && head.length + shown.text.length < MAX_UNITS + 100) {
    return { content: `${head}\n${shown.text}`, files: [] };
  }
  const bytes = Buffer.from(text);
  const isCut = bytes.length > MAX_FILE_BYTES;
  const note = isCut ? `\nOf ${bytes.length} bytes these are the first ${MAX_FILE_BYTES}.` : "";
  return { content: `${head}${note}`, files: [{ attachment: bytes.subarray(0, MAX_FILE_BYTES), name }] };
}
