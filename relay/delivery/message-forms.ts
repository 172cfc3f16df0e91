/** What is written instead of a message that Discord will never take, until it takes something. Pure. */
import { inline } from "../content/transcript/inline.ts";
import type { OutgoingFile } from "../discord/api.ts";
import type { Post } from "./outgoing.ts";

/**
 * - `whole`: as it is.
 * - `no reply`: as it is, but below nothing that it answers.
 * - `controls`: Discord's words, what it says as a file, and its buttons.
 * - `file`: the same without buttons.
 * - `words`: a sentence of ours alone.
 * - `bare`: of an edit that changes the buttons alone: no buttons.
 */
export type Form = "whole" | "no reply" | "controls" | "file" | "words" | "bare";

export interface Formed {
  readonly post: Post;
  readonly file?: OutgoingFile;
}

/** The forms in which it is tried, one after the other. */
export function formsOf({ text, replyTo, buttons, selects = [] }: Post): readonly Form[] {
  if (text === "") return ["whole", "bare"];
  return [
    "whole",
    ...(replyTo === undefined ? [] : (["no reply"] as const)),
    ...(buttons.length + selects.length === 0 ? [] : (["controls"] as const)),
    "file",
    "words",
  ];
}

/** @param why Discord's words. */
export function inForm(post: Post, form: Form, why: string): Formed {
  const { replyTo: _, ...alone } = post;
  switch (form) {
    case "whole":
      return { post };
    case "no reply":
      return { post: alone };
    case "bare":
      return { post: { ...alone, buttons: [], selects: [] } };
    case "controls":
      return { post: standIn(alone, tell(post, why)), file: fileOf(post) };
    case "file": {
      const left = formsOf(post).includes("controls")
        ? " Its buttons are left out: the web console has them."
        : "";
      const text = `${tell(post, why)}${left}`;
      return { post: { ...standIn(alone, text), buttons: [], selects: [] }, file: fileOf(post) };
    }
    case "words": {
      const text = "⚠️ Discord does not take this message. The web console shows what it says.";
      return { post: { ...standIn(alone, text), buttons: [], selects: [] } };
    }
    default:
      return form satisfies never;
  }
}

function tell({ file }: Post, why: string): string {
  const where = file === undefined ? "" : " The file that it brought stays among the thread's attachments.";
  return `⚠️ Discord does not take this message: ${inline(why, 400)}\n-# What it says is in the file below.${where}`;
}

/** It still notifies whom the message would have. */
function standIn({ file: _, ...post }: Post, text: string): Post {
  return { ...post, text: post.mention === undefined ? text : `<@${post.mention}> ${text}` };
}

function fileOf({ text }: Post): OutgoingFile {
  return { name: "message.txt", data: Buffer.from(text) };
}
