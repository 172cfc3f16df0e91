/** Text that may be long: as much as one reads, and the rest on demand, in parts of a bounded size. */
import type { ThreadEvent } from "../../../../shared/agent/events.ts";
import { writeOutHidden } from "../../../../shared/clean-text.ts";
import { readBlob } from "../api.ts";
import { errorText, make, makeButton } from "../dom.ts";
import { formatBytes } from "./format.ts";

const MAX_CHARACTERS = 8_000;

/** @param isOpen all of it at once: for what is decided on. */
export function longText(text: string, { isOpen = false, className = "" } = {}): HTMLElement {
  const pre = make("pre", `text ${className}`.trim());
  pre.tabIndex = 0; // it scrolls
  if (isOpen || text.length <= MAX_CHARACTERS) {
    pre.textContent = writeOutHidden(text);
    return pre;
  }
  pre.textContent = writeOutHidden(text.slice(0, MAX_CHARACTERS));
  const rest = text.length - MAX_CHARACTERS;
  const more = makeButton(`Show ${rest.toLocaleString("en")} more characters`, () => {
    pre.textContent = writeOutHidden(text);
    more.remove();
  });
  return make("div", "", [pre, more]);
}

/** For each text that was cut out of the event: a button that reads it from the sidecar, part by part. */
export function cutTexts(threadId: string, { blobs = {} }: Pick<ThreadEvent, "blobs">): HTMLElement[] {
  return Object.entries(blobs).map(([pointer, { sha256, bytes }]) => {
    const holder = make("div", "blob");
    const pre = make("pre", "text");
    pre.tabIndex = 0;
    let since = 0;
    const press = async () => {
      button.disabled = true;
      try {
        const { text, offset, end } = await readBlob(threadId, sha256, since);
        if (since === 0) holder.prepend(pre);
        pre.append(writeOutHidden(text));
        since = offset;
        if (offset >= end) button.remove();
        else button.textContent = `Show more (${formatBytes(end - offset)} left)`;
        problem.textContent = "";
      } catch (error) {
        problem.textContent = errorText(error);
      }
      button.disabled = false;
    };
    const button = makeButton(
      `Show the whole ${nameOf(pointer)} (${formatBytes(bytes)})`,
      () => void press(),
    );
    const problem = make("span", "problem");
    problem.setAttribute("role", "alert");
    holder.append(button, problem);
    return holder;
  });
}

function nameOf(pointer: string): string {
  const last = pointer.split("/").at(-1) ?? "";
  if (pointer.startsWith("/rawInput")) return last === "rawInput" ? "input" : `input's ${last}`;
  return pointer.startsWith("/content") ? "text" : last;
}
