/** What people's messages hold besides what was typed: files, and what was forwarded. */
import { MAX_ATTACHMENT_BYTES } from "../../shared/agent/attachments.ts";
import { AppError } from "../../shared/errors.ts";
import type { Cdn } from "../discord/cdn.ts";
import { filesOf, forwardedTexts, nameOfFile, othersIn } from "../discord/message-parts.ts";
import type { DiscordMessage } from "../discord/message-schema.ts";
import { type Attachment, inputText } from "../discord/person-message.ts";
import type { Reading, Words } from "../kinds/kind.ts";
import type { VmThread } from "../sidecar/vm.ts";

export class PersonFiles {
  readonly #cdn: Cdn;

  constructor(cdn: Cdn) {
    this.#cdn = cdn;
  }

  /** @throws AppError `invalid_request` if a file is to be typed that is no UTF-8 text. */
  async wordsOf(message: DiscordMessage, reading: Reading): Promise<Words> {
    const { content } = message;
    const typed = content === "" ? [] : [inputText(content)];
    const texts = [...typed];
    for (const text of forwardedTexts(message)) texts.push(reading.forwarded(text));
    const rest: Attachment[] = [];
    for (const file of filesOf(message)) {
      const text = reading.isWords(file) ? await this.#readText(file, reading) : undefined;
      if (text === undefined) rest.push(file);
      else texts.push(text);
    }
    return { texts, isPlain: texts.length > typed.length, rest };
  }

  /**
   * Puts files into a thread's folder. The same message's files may be put there again: they are there once.
   * @returns their names there
   * @throws AppError of the sidecar, or if Discord does not give a file
   */
  async attach(files: readonly Attachment[], thread: VmThread): Promise<string[]> {
    const names: string[] = [];
    for (const file of files) {
      const bytes = await this.#cdn.download(file, Math.min(MAX_ATTACHMENT_BYTES, file.size));
      names.push((await thread.attach(file.filename, bytes)).name);
    }
    return names;
  }

  /** Undefined if it is no UTF-8 and goes in as a file. */
  async #readText(file: Attachment, { takesFiles }: Reading): Promise<string | undefined> {
    const bytes = await this.#cdn.download(file, file.size);
    try {
      const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
      return text.replaceAll("\r\n", "\n");
    } catch (cause) {
      if (takesFiles) return undefined;
      throw new AppError("invalid_request", `${file.filename} could not be read as UTF-8 text.`, { cause });
    }
  }
}

/** The message as if it held nothing but those of its files that can go in; undefined if none can. */
export function withFilesAlone(
  message: DiscordMessage,
  files: readonly Attachment[],
  reading: Reading,
): DiscordMessage | undefined {
  const attachments = files.filter((file) => !reading.leavesOut(file));
  return attachments.length === 0
    ? undefined
    : { ...message, content: "", attachments, message_snapshots: [] };
}

/**
 * What a person is told of a message that went in without some of its parts; undefined if it went in whole.
 * @param rest its files that are no words
 */
export function leftOut(
  message: DiscordMessage,
  rest: readonly Attachment[],
  reading: Reading,
): string | undefined {
  const files = rest.filter((file) => reading.leavesOut(file)).map(nameOfFile);
  const others = othersIn(message);
  const parts = [...files, ...others].join(", ");
  return parts === "" ? undefined : `${reading.leftOut(others.length > 0)}: ${parts}.`;
}
