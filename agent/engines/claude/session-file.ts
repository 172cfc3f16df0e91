/**
 * claude's own file of a conversation, read for three questions: is it whole, which of our messages are in it, and
 * from which sum does its cost go on. Its format is private; three fields name a
 * message's id. claude drops a message whose id it knows: that is the second guard.
 */
import { statSync } from "node:fs";
import * as z from "zod";
import type { Conversation } from "../../engine.ts";
import { LineFile } from "../../folder/line-file.ts";

/** An image, or a file that was read, is one line. */
const MAX_LINE_BYTES = 64 * 1024 * 1024;

const entry = z.looseObject({
  type: z.string().optional(),
  uuid: z.string().optional(),
  mergedSendUuids: z.array(z.string()).optional(),
  attachment: z.looseObject({ source_uuid: z.string().optional() }).optional(),
});

const cost = z.looseObject({ type: z.literal("cost-state"), totalCostUSD: z.number().nonnegative() });

/** A file in which nobody speaks, or that lacks a line which it had, is no conversation: it was emptied, or cut. */
export function readConversation(
  file: string,
  { deliveryIds, lastAt }: { deliveryIds: readonly string[]; lastAt: string | undefined },
): Conversation {
  const delivered = new Set<string>();
  let isSpoken = false;
  let isWhole = lastAt === undefined;
  let costUsd: number | undefined;
  for (const line of linesOf(file)) {
    isSpoken ||= SPOKEN.test(line);
    isWhole ||= lastAt !== undefined && line.includes(`"uuid":"${lastAt}"`);
    if (COST.test(line)) costUsd = costIn(line) ?? costUsd;
    if (!deliveryIds.some((id) => line.includes(id))) continue;
    for (const id of idsIn(line)) if (deliveryIds.includes(id)) delivered.add(id);
  }
  if (!isSpoken || !isWhole) return { exists: false, delivered: new Set() };
  const bytes = statSync(file).size;
  return { exists: true, delivered, bytes, ...(costUsd !== undefined && { costUsd }) };
}

/** Also the last one, if only its newline is missing. Without streams: Node would load them at every start. */
function* linesOf(file: string): Iterable<string> {
  const reader = new LineFile(file, 0, MAX_LINE_BYTES, true);
  try {
    for (let lines = reader.read(); lines.length > 0; lines = reader.read()) {
      for (const { text } of lines) yield text;
    }
    yield reader.textAt(reader.byte, Math.min(statSync(file).size - reader.byte, MAX_LINE_BYTES));
  } finally {
    reader.close();
  }
}

/** Written when it ends in order: a process that was killed leaves the sum of an earlier one, or none. */
const COST = /^\{"type":"cost-state"/;
const SPOKEN = /"type":"(user|assistant|attachment)"/;

function idsIn(line: string): string[] {
  const parsed = entry.safeParse(parseJson(line));
  if (!parsed.success) return [];
  const { type, uuid, mergedSendUuids, attachment } = parsed.data;
  const ids = [...(mergedSendUuids ?? [])];
  if (type === "user" && uuid !== undefined) ids.push(uuid);
  if (attachment?.source_uuid !== undefined) ids.push(attachment.source_uuid);
  return ids;
}

function costIn(line: string): number | undefined {
  return cost.safeParse(parseJson(line)).data?.totalCostUSD;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // the last line of a claude that was killed while it wrote
  }
}
