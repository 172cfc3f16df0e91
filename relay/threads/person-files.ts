/** The files of people's messages: short texts become words of the message, an agent gets all others as files. */
import { MAX_ATTACHMENT_BYTES } from "../../shared/agent/attachments.ts";
import { AppError } from "../../shared/errors.ts";
import type { Cdn } from "../discord/cdn.ts";
import { filesOf, forwardedTexts, nameOfFile, othersIn } from "../discord/message-parts.ts";
import type { DiscordMessage } from "../discord/message-schema.ts";
import { type Attachment, inputText, isTextFile } from "../discord/person-message.ts";
import type { VmThread } from "../sidecar/vm.ts";

/** A longer text is a file for an agent: it reads what it needs of it, and its context stays short. */
const MAX_AGENT_TEXT_BYTES = 64 * 1024;
const MIB = 1024 * 1024;

export interface Words {
  /** What was written, then the text files, each by itself. */
  texts: string[];
  /** Some of them come from a file, or from who wrote what was forwarded. */
  isPlain: boolean;
  /** Files that are no words. */
  rest: Attachment[];
}

export class PersonFiles {
  readonly #cdn: Cdn;

  constructor(cdn: Cdn) {
    this.#cdn = cdn;
  }

  /** @throws AppError `invalid_request` if a terminal is to be typed what is no UTF-8 text. */
  async wordsOf(message: DiscordMessage, isAgent: boolean): Promise<Words> {
    const { content } = message;
    const typed = content === "" ? [] : [inputText(content)];
    const texts = [...typed];
    // An agent is to know who did not write it; a program in a terminal is to get the very text.
    for (const text of forwardedTexts(message)) texts.push(isAgent ? asForwarded(text) : inputText(text));
    const rest: Attachment[] = [];
    for (const file of filesOf(message)) {
      const isText = isTextFile(file) && (!isAgent || file.size <= MAX_AGENT_TEXT_BYTES);
      const text = isText ? await this.#readText(file, isAgent) : undefined;
      if (text === undefined) rest.push(file);
      else texts.push(text);
    }
    return { texts, isPlain: texts.length > typed.length, rest };
  }

  /**
   * Puts files into an agent's folder. The same message's files may be put there again: they are there once.
   * @returns their names there; those that are too large are left out.
   * @throws AppError of the sidecar, or if Discord does not give a file
   */
  async attach(files: readonly Attachment[], thread: VmThread): Promise<string[]> {
    const names: string[] = [];
    for (const file of files.filter(isSmall)) {
      const bytes = await this.#cdn.download(file, Math.min(MAX_ATTACHMENT_BYTES, file.size));
      names.push((await thread.attach(file.filename, bytes)).name);
    }
    return names;
  }

  /** Undefined if it is no UTF-8, which an agent gets as a file. */
  async #readText(file: Attachment, isAgent: boolean): Promise<string | undefined> {
    const bytes = await this.#cdn.download(file, file.size);
    try {
      const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
      return text.replaceAll("\r\n", "\n");
    } catch (cause) {
      if (isAgent) return undefined;
      throw new AppError("invalid_request", `${file.filename} could not be read as UTF-8 text.`, { cause });
    }
  }
}

const isSmall = ({ size }: Attachment) => size <= MAX_ATTACHMENT_BYTES;

/** For an agent: what a person forwarded. */
export function asForwarded(text: string): string {
  return `Forwarded message:\n${text.replace(/^/gm, "> ")}`;
}

/**
 * What a person is told of a message that went in without some of its parts; undefined if it went in whole.
 * @param rest its files that are no words
 */
export function leftOut(
  message: DiscordMessage,
  rest: readonly Attachment[],
  isAgent: boolean,
): string | undefined {
  const files = (isAgent ? rest.filter((file) => !isSmall(file)) : rest).map(nameOfFile);
  const others = othersIn(message);
  const parts = [...files, ...others].join(", ");
  if (parts === "") return undefined;
  if (!isAgent)
    return `Left out, only ${others.length > 0 ? "text and " : ""}text files up to 256 KiB can be typed: ${parts}.`;
  const isOnlyLarge = others.length === 0;
  return isOnlyLarge
    ? `Left out, an agent takes files up to ${MAX_ATTACHMENT_BYTES / MIB} MiB: ${parts}.`
    : `Left out, an agent takes words and files up to ${MAX_ATTACHMENT_BYTES / MIB} MiB: ${parts}.`;
}

/** What a person is told of a message that holds nothing to go in. */
export function nothingIn(isAgent: boolean): string {
  return isAgent
    ? "An agent takes words and files, and this message holds neither: only Discord can show what is in it."
    : "Only text, and text files up to 256 KiB, can be typed into a thread.";
}
