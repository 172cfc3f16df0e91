/** What a message to a browser means. Pure. */
import { parseAddress } from "../../shared/browser/address.ts";
import { BROWSER_KEYS, type BrowserOp } from "../../shared/browser/ops.ts";
import { MAX_MARKS } from "../../shared/browser/spec.ts";
import { AppError } from "../../shared/errors.ts";
import { trimEndOf } from "../../shared/trim-end.ts";

const KEYS: Readonly<Record<string, (typeof BROWSER_KEYS)[number]>> = {
  ...{ Up: "ArrowUp", Down: "ArrowDown", Left: "ArrowLeft", Right: "ArrowRight" },
  ...{ BSpace: "Backspace", DC: "Delete", PPage: "PageUp", NPage: "PageDown" },
};

/**
 * A number clicks, a number with words behind it types them there, a web address opens, and anything else is typed where
 * the cursor is.
 * @param enter whether Enter follows what is typed
 * @throws AppError `invalid_request`
 */
export function opOfText(text: string, enter: boolean): BrowserOp {
  const words = trimEndOf(text, "\n");
  const [, digits, rest] = /^#?(\d{1,3})(?:[ \t]+(\S[\s\S]*))?$/.exec(words.trim()) ?? [];
  if (digits !== undefined && Number(digits) >= 1 && Number(digits) <= MAX_MARKS) {
    const number = Number(digits);
    return rest === undefined ? { do: "click", number } : { do: "type", number, text: rest, enter };
  }
  if (/^[a-z][a-z0-9+.-]*:\/\/\S+$/i.test(words.trim())) return { do: "open", url: parseAddress(words).href };
  if (words === "") throw new AppError("invalid_request", "text: must not be empty.");
  return { do: "type", text: words, enter };
}

/** @param key by tmux's name @throws AppError `invalid_request` */
export function opOfKey(key: string): BrowserOp {
  const name = KEYS[key] ?? BROWSER_KEYS.find((one) => one === key);
  if (name !== undefined) return { do: "press", key: name };
  throw new AppError("invalid_request", `key: a browser takes no ${key}, but ${BROWSER_KEYS.join(", ")}.`);
}
