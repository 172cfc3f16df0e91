/** What a person's message means as input. Pure. */
import type { DiscordMessage } from "./message-schema.ts";

/** Message types that are a person's words: a plain message and a reply. Everything else is Discord's own. */
const WRITTEN_TYPES = new Set([0, 19]);
const MAX_FILE_BYTES = 256 * 1024;
const TEXT_TYPES = /^(text\/|application\/(json|xml|javascript|x-sh|toml|yaml|x-yaml))/;

export type Attachment = DiscordMessage["attachments"][number];

/**
 * Tells whether a person wrote the message: no bot, no webhook, no system message.
 * @param may tells whether a person is served
 */
export function isFromPerson(message: DiscordMessage, may: (userId: string) => boolean): boolean {
  return (
    message.author.bot !== true &&
    message.webhook_id === undefined &&
    WRITTEN_TYPES.has(message.type) &&
    may(message.author.id)
  );
}

/** The text to type: a message that is one code block counts without its fence. */
export function inputText(content: string): string {
  const inline = /^`([^`\n]+)`$/.exec(content.trim())?.[1];
  return codeBlockOf(content) ?? inline ?? content;
}

/** What stands in the code block that a message is; undefined if it is no single block. */
export function codeBlockOf(content: string): string | undefined {
  const fenced = /^```(?:[\w+#.-]*\n)?([\s\S]*?)\n?```$/.exec(content.trim())?.[1];
  return fenced?.includes("```") ? undefined : fenced;
}

/** Attached files go in where they are text and small. */
export function isTextFile({ size, content_type, filename }: Attachment): boolean {
  if (size > MAX_FILE_BYTES) return false;
  return content_type === undefined
    ? /\.(txt|md|log|json|ya?ml|sh|csv|diff|patch)$/i.test(filename)
    : TEXT_TYPES.test(content_type);
}
