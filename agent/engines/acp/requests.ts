/** Parts of what an agent is sent. */
import { readFileSync } from "node:fs";
import type { ContentBlock, McpServer } from "@agentclientprotocol/sdk/unstable";
import * as z from "zod";
import type { ContentPart } from "../../engine.ts";

/** Stands in each prompt: v1's prompts have no ids, and a replay shows which of them the agent has. */
export function markerOf(deliveryId: string): string {
  return `<!-- ${deliveryId.slice(0, 8)} -->`;
}

export const MARKER_LENGTH = markerOf("12345678").length;

export function blockOf(part: ContentPart, canSee: boolean): ContentBlock {
  if (part.type === "text") return part;
  if (canSee) return { type: "image", mimeType: part.mimeType, data: part.base64 };
  return { type: "text", text: "(an image, which this agent can't see)" };
}

const mcpFileSchema = z.object({
  mcpServers: z.record(z.string(), z.object({ url: z.string(), headers: z.record(z.string(), z.string()) })),
});

/** @param path of the file that the sidecar writes for each of a thread's processes */
export function serversIn(path: string): McpServer[] {
  const { mcpServers } = mcpFileSchema.parse(JSON.parse(readFileSync(path, "utf8")));
  return Object.entries(mcpServers).map(([name, { url, headers }]) => ({
    type: "http",
    name,
    url,
    headers: Object.entries(headers).map(([header, value]) => ({ name: header, value })),
  }));
}
