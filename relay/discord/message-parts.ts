/** What a person's message holds besides what they wrote: what they forwarded, and what only Discord can show. Pure. */
import type { DiscordMessage } from "./message-schema.ts";

/** The parts of a message that only Discord can show, by the message's field. */
const OTHERS = {
  activity: "the invitation to an activity",
  call: "the call",
  gift_info: "the gift",
  shared_client_theme: "the shared theme",
  shared_contact: "the shared contact",
  soundboard_sounds: "the sound",
} as const;
const OTHER_FIELDS = Object.keys(OTHERS) as (keyof typeof OTHERS)[];

type Other = "poll" | "sticker_items" | keyof typeof OTHERS;
type Parts = Pick<DiscordMessage, "attachments" | "message_snapshots"> & Partial<Pick<DiscordMessage, Other>>;
type Attachment = DiscordMessage["attachments"][number];

const MAX_NAME_CHARACTERS = 80;

/** The words of each forwarded message. A bot's may stand in an embed. */
export function forwardedTexts({ message_snapshots }: Pick<Parts, "message_snapshots">): string[] {
  return message_snapshots
    .map(({ message: { content, embeds } }) => {
      if (content !== "") return content;
      return embeds
        .flatMap(({ title, description }) => [title, description])
        .filter((text) => text !== undefined && text !== "")
        .join("\n");
    })
    .filter((text) => text !== "");
}

/** Its files, and those of what it forwards. */
export function filesOf({
  attachments,
  message_snapshots,
}: Pick<Parts, "attachments" | "message_snapshots">): Attachment[] {
  return [...attachments, ...message_snapshots.flatMap(({ message }) => message.attachments)];
}

/** What can go into no thread, as a person calls it. */
export function othersIn(message: Parts): string[] {
  return [message, ...message.message_snapshots.map((snapshot) => snapshot.message)].flatMap(
    ({ poll, sticker_items = [], ...fields }) => [
      ...(poll ? [`the poll ${quote(poll.question.text ?? "")}`] : []),
      ...sticker_items.map(({ name }) => `the sticker ${quote(name)}`),
      ...OTHER_FIELDS.filter((field) => isHeld(fields[field])).map((field) => OTHERS[field]),
    ],
  );
}

/** What a person calls a file: a voice note has a name that Discord made up. */
export function nameOfFile({ filename, duration_secs }: Attachment): string {
  return duration_secs === undefined ? filename : "the voice note";
}

function isHeld(value: unknown): boolean {
  return Array.isArray(value) ? value.length > 0 : value !== undefined && value !== null;
}

function quote(text: string): string {
  const line = text.replace(/\s+/g, " ").trim();
  const characters = [...line.slice(0, 2 * MAX_NAME_CHARACTERS)];
  const isLong = characters.length > MAX_NAME_CHARACTERS;
  return `“${isLong ? `${characters.slice(0, MAX_NAME_CHARACTERS - 1).join("")}…` : line}”`;
}
