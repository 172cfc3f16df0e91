/** The lines that the stand-in takes. */
import * as z from "zod";
import type { Block } from "./session-file.ts";

const BlockShape = z.looseObject({ type: z.string(), text: z.string().optional() });
export const Input = z.discriminatedUnion("type", [
  z.looseObject({
    type: z.literal("user"),
    message: z.looseObject({ role: z.literal("user"), content: z.union([z.string(), z.array(BlockShape)]) }),
    uuid: z.string().optional(),
  }),
  z.looseObject({
    type: z.literal("control_request"),
    request_id: z.string(),
    request: z.looseObject({ subtype: z.string() }),
  }),
  z.looseObject({
    type: z.literal("control_response"),
    response: z.looseObject({ request_id: z.string(), response: z.unknown() }),
  }),
]);

/** A message's blocks; what is no image is replaced, as the engine does it. */
export function blocksOf(content: string | z.infer<typeof BlockShape>[]): Block[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return (content as Block[]).map((block) =>
    block.type === "image" && !isImage(block) ? BROKEN_IMAGE : block,
  );
}

const BROKEN_IMAGE = {
  type: "text",
  text: "[Image could not be processed: it is no PNG, JPEG, GIF or WebP. Please convert the image.]",
};

/** By its first bytes. */
function isImage({ source }: Block): boolean {
  const { data = "" } = (source ?? {}) as { data?: string };
  const head = Buffer.from(data.slice(0, 16), "base64").toString("latin1");
  return /^(\x89PNG|\xff\xd8|GIF8|RIFF)/.test(head);
}
