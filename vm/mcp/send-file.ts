/** `send_file`: a file of the workspace for the people of the thread. */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { type FileHandle, readlink } from "node:fs/promises";
import { basename, relative, resolve, sep } from "node:path";
import * as z from "zod";
import { type Attachment, MAX_SENT_FILE_BYTES } from "../../shared/agent/attachments.ts";
import { AppError } from "../../shared/errors.ts";
import type { ThreadId } from "../../shared/ids.ts";
import { openRegularFile, UnfitFile } from "../../shared/regular-file.ts";
import { findOtherNames } from "../../shared/sandbox/other-names.ts";
import type { Agents } from "../agents/agents.ts";
import type { Attachments } from "../agents/attachments.ts";
import { isInside } from "../threads/directory.ts";
import type { Threads } from "../threads/threads.ts";
import { looksSecret } from "./secret-names.ts";
import type { Tool, ToolCall } from "./tool.ts";

const inputSchema = z.strictObject({
  path: z.string().min(1).max(4_096).describe("The file, relative to the working directory or absolute"),
  caption: z.string().max(500).optional().describe("A sentence that stands beside it"),
});

export interface SendFileOptions {
  threads: Threads;
  agents: Agents;
  attachments: Attachments;
  /** STATE_DIR, without a link. */
  state: string;
}

/** Looks at a file of the thread's directory as `send_file` does, and copies it to the thread's attachments. @throws AppError in words for the model */
export type KeepFile = (threadId: ThreadId, path: string) => Promise<Attachment & { path: string }>;

export function makeKeepFile({
  threads,
  attachments,
  state,
}: Pick<SendFileOptions, "threads" | "attachments" | "state">): KeepFile {
  return async (threadId, wanted) => {
    const file = await openBelow(threads.getStored(threadId).path, wanted, state);
    try {
      const { size } = await file.handle.stat();
      // Somebody may write on: what was looked at is what is sent.
      const end = Math.max(0, Math.min(size, MAX_SENT_FILE_BYTES) - 1);
      const stream = createReadStream("", { fd: file.handle, autoClose: false, start: 0, end });
      return { ...(await attachments.add(threadId, basename(file.path), stream)), path: file.path };
    } finally {
      await file.handle.close();
    }
  };
}

export function sendFileTool(options: SendFileOptions): Tool {
  return {
    name: "send_file",
    right: "read",
    description:
      "Sends a file of the working directory to the people of this thread (at most 10 MiB): a screenshot, a report, a build. They see it in their chat.",
    inputSchema,
    run: (call) => sendFile(options, call),
  };
}

async function sendFile(options: SendFileOptions, { threadId, callId, input }: ToolCall): Promise<string> {
  const { path: wanted, caption } = inputSchema.parse(input);
  const { name, bytes, imageType, path } = await makeKeepFile(options)(threadId, wanted);
  // The same call a second time, after an answer that was lost, sends nothing more.
  const fileId = callId ?? createHash("sha256").update(`${path} ${bytes} ${caption}`).digest("hex");
  const sent = { fileId: fileId.slice(0, 100), name, bytes, ...(caption && { caption }) };
  await options.agents.noteFile(threadId, { ...sent, ...(imageType !== null && { imageType }) });
  return `Sent ${name} (${bytes} bytes) to the people of this thread.`;
}

/**
 * Opens a file of the workspace. What counts is what was opened, not what lies under the name a moment later.
 * @param state STATE_DIR, without a link
 * @throws AppError `invalid_request` in words for the model
 */
export async function openBelow(
  workspace: string,
  wanted: string,
  state: string,
): Promise<{ handle: FileHandle; path: string }> {
  const refuse = (why: string) => new AppError("invalid_request", `${wanted} was not sent: ${why}.`);
  const handle = await openFile(resolve(workspace, wanted)).catch((error: NodeJS.ErrnoException) => {
    throw refuse(error.code === "ENOENT" ? "there is no such file" : `it can't be read (${error.code})`);
  });
  if (!handle) throw refuse("it is no file");
  try {
    const stats = await handle.stat();
    // The directory had no link in it when its thread was made: one that has one now leads elsewhere.
    const path = await readlink(`/proc/self/fd/${handle.fd}`);
    if (!path.startsWith(workspace + sep)) throw refuse("it lies outside of this thread's working directory");
    // REPOS_DIR may have been another one when the thread was made. A worktree of a thread is in STATE_DIR itself.
    if (isOfState(state, path) && !isInside(state, workspace)) throw refuse("it belongs to threadmux itself");
    if (looksSecret(relative(workspace, path)) || looksSecret(wanted))
      throw refuse("its name looks like a secret's; ask a person to copy it under another name");
    if (stats.size > MAX_SENT_FILE_BYTES)
      throw refuse(`it has ${stats.size} bytes; at most 10 MiB (${MAX_SENT_FILE_BYTES}) can be sent`);
    return { handle, path };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** By any of its names. */
function isOfState(state: string, path: string): boolean {
  return [state, ...findOtherNames(state).map((other) => other.path)].some((name) => isInside(name, path));
}

/** @returns undefined if it is no file: a FIFO's writer is not let go */
async function openFile(path: string): Promise<FileHandle | undefined> {
  try {
    return await openRegularFile(path);
  } catch (error) {
    if (error instanceof UnfitFile) return undefined;
    throw error;
  }
}
