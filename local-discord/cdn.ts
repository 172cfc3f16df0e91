/** Attachments by signed links: the bot's expire, as those of Discord's CDN do, the page's hold until the next start. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { isSameSecret } from "./access.ts";
import type { World } from "./state.ts";
import type { Attachment, Snowflake } from "./types.ts";
import { signLink } from "./wire.ts";

/** `/attachments/<channel>/<id>/<name>?ex=…&is=…&hm=…` */
export function serveAttachment(world: World, request: IncomingMessage, response: ServerResponse): void {
  const url = new URL(request.url ?? "/", "http://localhost");
  const [expires, issued, signature] = ["ex", "is", "hm"].map((name) => url.searchParams.get(name) ?? "");
  const expected = signLink(world, url.pathname, `ex=${expires}&is=${issued}`);
  const isExpired = Number.parseInt(expires ?? "", 16) * 1000 < world.now();
  if (!isSameSecret(signature ?? "", expected) || isExpired) {
    response.writeHead(404, { "content-type": "text/plain" }).end("This content is no longer available.");
    return;
  }
  sendFile(world, response, url.pathname.split("/")[3] ?? "");
}

/** The same each time, so that a picture is not loaded anew with every edit of its message. */
export function pageFileUrl(world: World, id: Snowflake, name: string): string {
  const path = `/page/attachments/${id}/${encodeURIComponent(name)}`;
  return `${path}?hm=${signLink(world, path, "")}`;
}

/** `/page/attachments/<id>/<name>?hm=…` */
export function servePageFile(world: World, response: ServerResponse, url: URL): void {
  const isSigned = isSameSecret(url.searchParams.get("hm") ?? "", signLink(world, url.pathname, ""));
  sendFile(world, response, isSigned ? (url.pathname.split("/")[3] ?? "") : "");
}

/** Files are never opened as a document of our origin: only images are shown, in a sandbox. */
function sendFile(world: World, response: ServerResponse, id: Snowflake): void {
  const bytes = /^\d+$/.test(id) ? world.files.find(id) : undefined;
  if (!bytes) {
    response.writeHead(404, { "content-type": "text/plain" }).end("There is no such file.");
    return;
  }
  const file = findAttachment(world, id);
  const type = file?.content_type ?? "application/octet-stream";
  const isImage = /^image\/(png|jpeg|gif|webp)$/.test(type);
  response.writeHead(200, {
    "content-type": type,
    "content-length": bytes.byteLength,
    "content-disposition": `${isImage ? "inline" : "attachment"}; filename*=UTF-8''${encodeURIComponent(file?.filename ?? "file")}`,
    "content-security-policy": "default-src 'none'; sandbox",
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
  });
  response.end(bytes);
}

function findAttachment(world: World, id: Snowflake): Attachment | undefined {
  const channels = [...world.data.messages.values(), world.passing.ephemerals];
  for (const messages of channels) {
    for (const message of messages.values()) {
      const found = message.attachments.find((file) => file.id === id);
      if (found) return found;
    }
  }
  return undefined;
}
