/** A code block of a text that did not go through a terminal (a command, a summary, what a person typed). */
import { fence } from "./pages.ts";

/** `text` in a fence that nothing in it can close. The length is the caller's matter: the fence adds 10 units at most, every backtick one. */
export function fenceText(text: string): string {
  return fence(text.replaceAll("\t", "    ").split(/\r\n|\r|\n/));
}
