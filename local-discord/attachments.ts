/** Files of a message: taken in, kept or dropped on an edit. */
import { extname } from "node:path";
import { invalidForm, refuse } from "./discord-error.ts";
import type { World } from "./state.ts";
import type { Attachment, Message, UploadedFile } from "./types.ts";
import type { MessageInput } from "./validate.ts";

const MAX_FILES = 10;

const TYPES: Record<string, string> = {
  ".txt": "text/plain; charset=utf-8",
  ".log": "text/plain; charset=utf-8",
  ".md": "text/markdown; charset=utf-8",
  ".json": "application/json",
  ".png": "image/png",
  ".jpg": "image/jpeg",
  ".jpeg": "image/jpeg",
  ".gif": "image/gif",
  ".webp": "image/webp",
  ".gz": "application/gzip",
};

/** Stores new files; `entries` is the JSON `attachments` list whose ids name `files[n]`. */
export function addFiles(
  world: World,
  entries: MessageInput["attachments"],
  files: readonly UploadedFile[],
): Attachment[] {
  if (files.length > MAX_FILES) {
    throw invalidForm(["files"], "BASE_TYPE_MAX_LENGTH", `Must be ${MAX_FILES} or fewer in length.`);
  }
  if (files.some((file) => file.data.byteLength > world.limits.fileBytes)) throw refuse(40005);
  return files.map((file) => {
    const number = /\[(\d+)\]$/.exec(file.field)?.[1];
    const entry = entries?.find((candidate) => candidate.id === number);
    const filename = safeName(entry?.filename ?? file.name);
    const id = world.nextId();
    world.files.put(id, file.data);
    return {
      id,
      filename,
      description: entry?.description ?? null,
      content_type: contentType(filename, file.type),
      size: file.data.byteLength,
    };
  });
}

/** An edit keeps exactly the attachments it lists; a missing list keeps all. */
export function keptFiles(message: Message, entries: MessageInput["attachments"]): Attachment[] {
  if (entries === undefined) return message.attachments;
  const wanted = new Set((entries ?? []).map((entry) => entry.id));
  return message.attachments.filter((file) => wanted.has(file.id));
}

/** Letters, digits, dot, dash and underscore: Discord replaces the rest too. */
function safeName(name: string): string {
  const base = name.split(/[/\\]/).pop() ?? "";
  const safe = base.replace(/[^\p{L}\p{N}._-]/gu, "_").replace(/^\.+/, "");
  return safe === "" ? "file" : safe.slice(-200);
}

function contentType(filename: string, given: string): string {
  if (given !== "" && given !== "application/octet-stream") return given;
  return TYPES[extname(filename).toLowerCase()] ?? "application/octet-stream";
}
