/**
 * claude's own file of a conversation, read for one question: which of our messages are in it. Its format is
 * private; three fields name a message's id. claude drops a message whose id it knows: that is the second guard.
 */
import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import * as z from "zod";

const entry = z.looseObject({
  type: z.string().optional(),
  uuid: z.string().optional(),
  mergedSendUuids: z.array(z.string()).optional(),
  attachment: z.looseObject({ source_uuid: z.string().optional() }).optional(),
});

export async function findDelivered(file: string, deliveryIds: readonly string[]): Promise<Set<string>> {
  const found = new Set<string>();
  if (deliveryIds.length === 0) return found;
  const lines = createInterface({ input: createReadStream(file), crlfDelay: Number.POSITIVE_INFINITY });
  for await (const line of lines) {
    if (!deliveryIds.some((id) => line.includes(id))) continue;
    for (const id of idsIn(line)) if (deliveryIds.includes(id)) found.add(id);
  }
  return found;
}

function idsIn(line: string): string[] {
  const parsed = entry.safeParse(parseJson(line));
  if (!parsed.success) return [];
  const { type, uuid, mergedSendUuids, attachment } = parsed.data;
  const ids = [...(mergedSendUuids ?? [])];
  if (type === "user" && uuid !== undefined) ids.push(uuid);
  if (attachment?.source_uuid !== undefined) ids.push(attachment.source_uuid);
  return ids;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // the last line of a claude that was killed while it wrote
  }
}
