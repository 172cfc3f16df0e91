/** Files of a thread, in its folder's `attachments/`: what they may be called, which of them a model can see. */
import * as z from "zod";
import { trimEndOf } from "../trim-end.ts";

/** An upload above this is answered `too_large`. */
export const MAX_ATTACHMENT_BYTES = 25 * 1024 * 1024;
/** What an agent may send: what Discord takes of a server without boosts. */
export const MAX_SENT_FILE_BYTES = 10 * 1024 * 1024;
/** The most attachments of one thread. */
export const MAX_ATTACHMENTS = 500;
/** That one message may name. */
export const MAX_MESSAGE_ATTACHMENTS = 10;
/** The engine refuses larger pictures. */
export const MAX_IMAGE_BYTES = 8 * 1024 * 1024;
/** What the pictures of one message may have in all. */
export const MAX_IMAGES_BYTES = 20 * 1024 * 1024;

const MAX_NAME_BYTES = 120;
const MAX_EXTENSION_BYTES = 16;

/** How a file of each type that the engine takes begins. */
const IMAGE_BEGINNINGS: Readonly<Record<string, RegExp>> = {
  "image/png": /^\x89PNG\r\n/,
  "image/jpeg": /^\xff\xd8\xff/,
  "image/gif": /^GIF8[79]a/,
  "image/webp": /^RIFF[\s\S]{4}WEBP/,
};
/** How many bytes of a file are enough for {@link findImageType}. */
export const IMAGE_BEGINNING_BYTES = 16;

/** A name as {@link safeFileName} makes them. */
export const attachmentNameSchema = z
  .string()
  .refine((name) => name === safeFileName(name), "must be the name of a file that was uploaded");

/** Names as the upload's reply gave them. */
export const attachmentNamesSchema = z.array(attachmentNameSchema).max(MAX_MESSAGE_ATTACHMENTS);

export const uploadQuerySchema = z.strictObject({
  /** What the file is called; it is stored under a name made safe, which the reply tells. */
  name: z.string().min(1, "must not be empty").max(1_000, "must be at most 1,000 characters"),
});

export const attachmentSchema = z.object({
  name: z.string(),
  bytes: z.int(),
  /** The type of a picture that a model can see; null for every other file. */
  imageType: z.string().nullable(),
});
export type Attachment = z.infer<typeof attachmentSchema>;
export const attachmentsReplySchema = z.object({ attachments: z.array(attachmentSchema) });

/** The type of a picture that a model can see, by its first bytes; undefined if it is none. */
export function findImageType(beginning: Uint8Array): string | undefined {
  const text = Buffer.from(beginning).toString("latin1");
  return Object.entries(IMAGE_BEGINNINGS).find(([, begin]) => begin.test(text))?.[0];
}

/** Whether a model can see pictures of that type. */
export function isImageType(mimeType: string): boolean {
  return Object.hasOwn(IMAGE_BEGINNINGS, mimeType);
}

/** A name that is one file of the folder, whatever somebody called it: never hidden, never an option, never a path. */
export function safeFileName(name: string): string {
  const base = name.normalize("NFC").split(/[/\\]/).pop() ?? "";
  const shown = base
    .replace(/[^\p{L}\p{N}._ +@()-]/gu, "_")
    .replace(/\s+/g, " ")
    .replace(/^[. -]+/, "");
  const safe = trimEndOf(shown, ". ");
  if (safe === "") return "file";
  if (Buffer.byteLength(safe) <= MAX_NAME_BYTES) return safe;
  const [, stem = safe, extension = ""] = /^(.*?)(\.[^.]*)?$/.exec(safe) ?? [];
  const end = Buffer.byteLength(extension) <= MAX_EXTENSION_BYTES ? extension : "";
  const start = firstBytes(end === "" ? safe : stem, MAX_NAME_BYTES - Buffer.byteLength(end));
  return trimEndOf(start + end, ". ");
}

/** Another name for a file if that one is taken: `log-2.txt`. */
export function numberedName(name: string, number: number): string {
  const [, stem = name, extension = ""] = /^(.+?)(\.[^.]*)?$/.exec(name) ?? [];
  const mark = `-${number}`;
  return firstBytes(stem, MAX_NAME_BYTES - Buffer.byteLength(mark + extension)) + mark + extension;
}

/** Whole characters. */
function firstBytes(text: string, maxBytes: number): string {
  let bytes = 0;
  let cut = "";
  for (const character of text) {
    bytes += Buffer.byteLength(character);
    if (bytes > maxBytes) break;
    cut += character;
  }
  return cut;
}
