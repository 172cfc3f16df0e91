/** Request bodies: JSON, urlencoded and multipart, with Discord's refusals for what is none of them. */
import type { IncomingMessage } from "node:http";
import { invalidForm, refuse } from "./discord-error.ts";
import type { UploadedFile } from "./types.ts";

export type ParsedBody = { body: unknown; files: UploadedFile[] };

/**
 * Reads at most `maxBytes`. The rest of a larger body is read and thrown away, so that the answer arrives.
 * @throws DiscordError 40005
 */
export async function readBody(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.byteLength;
    if (size <= maxBytes) chunks.push(chunk);
    else chunks.length = 0;
  }
  if (size > maxBytes) throw refuse(40005);
  return Buffer.concat(chunks);
}

/** @throws DiscordError 50109 (broken JSON), 50035 (a content type that is none of the three) */
export async function parseRequestBody(contentType: string | undefined, bytes: Buffer): Promise<ParsedBody> {
  if (bytes.byteLength === 0) return { body: undefined, files: [] };
  const type = (contentType ?? "").split(";")[0]?.trim().toLowerCase();
  if (type === "application/json") return { body: parseJson(bytes.toString("utf8")), files: [] };
  if (type === "application/x-www-form-urlencoded") {
    return { body: Object.fromEntries(new URLSearchParams(bytes.toString("utf8"))), files: [] };
  }
  if (type === "multipart/form-data") return parseMultipart(contentType ?? "", bytes);
  throw invalidForm(
    ["_misc"],
    "CONTENT_TYPE_INVALID",
    "Expected \"Content-Type\" header to be one of {'application/json', 'application/x-www-form-urlencoded', 'multipart/form-data'}.",
  );
}

/** JSON goes in the part `payload_json`, files in `files[n]`; plain fields count as JSON ones. */
async function parseMultipart(contentType: string, bytes: Buffer): Promise<ParsedBody> {
  let form: FormData;
  try {
    form = await new Response(new Uint8Array(bytes), { headers: { "content-type": contentType } }).formData();
  } catch {
    throw invalidForm(["_misc"], "CONTENT_TYPE_INVALID", "The multipart body is broken."); // whatever is wrong in it
  }
  const files: UploadedFile[] = [];
  const fields: Record<string, unknown> = {};
  for (const [field, value] of form as Iterable<[string, FormDataEntryValue]>) {
    if (typeof value === "string") {
      if (field === "payload_json") Object.assign(fields, parseJson(value));
      else fields[field] = value;
    } else {
      files.push({
        field,
        name: value.name,
        type: value.type,
        data: new Uint8Array(await value.arrayBuffer()),
      });
    }
  }
  return { body: fields, files };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw refuse(50109);
  }
}
