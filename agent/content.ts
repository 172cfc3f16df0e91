/** Waiting messages as what the engine is given: texts whole again, images read. */
import { join, resolve, sep } from "node:path";
import {
  findImageType,
  IMAGE_BEGINNING_BYTES,
  isImageType,
  MAX_IMAGE_BYTES,
} from "../shared/agent/attachments.ts";
import { unboundLine } from "../shared/agent/bound.ts";
import { isForeign } from "../shared/agent/fold-messages.ts";
import type { WaitingMessage } from "../shared/agent/fold-types.ts";
import type { Block } from "../shared/agent/values.ts";
import { timeOf } from "../shared/clock-text.ts";
import { escapeLines } from "../shared/outside-text.ts";
import { parsePrincipal } from "../shared/principal.ts";
import { readRegular, UnfitFile } from "../shared/regular-file.ts";
import type { ContentPart } from "./engine.ts";

export interface Content {
  parts: ContentPart[];
  /** What the model does not get, a sentence each. */
  problems: string[];
}

export function contentOf(
  messages: readonly WaitingMessage[],
  folder: string,
  readBlob: (sha256: string) => string | undefined,
): Content {
  const parts: ContentPart[] = [];
  const problems: string[] = [];
  for (const message of messages) {
    // The blobs' pointers are those of the event, whose content this is.
    const whole = unboundLine({ content: message.content, blobs: message.blobs }, readBlob);
    for (const block of whole.content) {
      const part = partOf(block, message, folder);
      parts.push(part.part);
      if (part.problem) problems.push(part.problem);
    }
  }
  return { parts, problems };
}

function partOf(
  block: Block,
  message: WaitingMessage,
  folder: string,
): { part: ContentPart; problem?: string } {
  switch (block.type) {
    case "text":
      return { part: { type: "text", text: tagOf(message) + wordsOf(message, block.text) } };
    case "resource_link":
      return {
        part: { type: "text", text: `[file ${block.name}: ${absolute(folder, block.uri) ?? block.uri}]` },
      };
    case "image":
      return imagePart(block, folder);
  }
}

/**
 * People's words go in as they are, also commands; what comes from elsewhere says where from. In a thread that speaks
 * with a tool all of them say so, and when: `[discord:#ops/alice 09:12] `.
 */
export function tagOf({ source, handle, at }: Pick<WaitingMessage, "source" | "handle" | "at">): string {
  if (handle === undefined) return isForeign({ source }) ? `[${source}] ` : "";
  return `[${handle}${at === undefined ? "" : ` ${timeOf(at)}`}] `;
}

/**
 * In what another agent or a program wrote no line may look like one of ours, nor in what a person wrote among others.
 * The text of a job is its maker's; what it has from outside stands behind marks by now.
 */
function wordsOf(message: WaitingMessage, text: string): string {
  const isOurs = parsePrincipal(message.source).kind === "job";
  const isAmongOthers = message.handle !== undefined || isForeign(message);
  return isAmongOthers && !isOurs ? escapeLines(text) : text;
}

function imagePart(
  { uri, mimeType }: Extract<Block, { type: "image" }>,
  folder: string,
): { part: ContentPart; problem?: string } {
  const refuse = (why: string) => {
    const problem = `The image ${uri} ${why}.`;
    return { part: { type: "text" as const, text: `[${problem}]` }, problem };
  };
  const path = absolute(folder, uri);
  if (path === undefined) return refuse("is not in the thread's folder");
  if (!isImageType(mimeType)) return refuse(`is ${mimeType}, which the agent can't see`);
  try {
    const bytes = readRegular(path, MAX_IMAGE_BYTES);
    if (bytes.length === 0) return refuse("is empty");
    if (findImageType(bytes.subarray(0, IMAGE_BEGINNING_BYTES)) !== mimeType)
      return refuse(`is broken: it is no ${mimeType}`);
    return { part: { type: "image", mimeType, base64: bytes.toString("base64"), uri } };
  } catch (error) {
    if (error instanceof UnfitFile)
      return refuse(error.stats.isFile() ? `has ${error.stats.size} bytes: more than 8 MiB` : "is no file");
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return refuse("is gone");
    throw error;
  }
}

/** Undefined if it leads out of the folder. */
function absolute(folder: string, uri: string): string | undefined {
  const path = resolve(join(folder, uri));
  return path.startsWith(resolve(folder) + sep) ? path : undefined;
}
