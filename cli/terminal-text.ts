/**
 * A thread's raw output made fit for where it goes: as plain text, or for a person's own terminal, where a program's
 * questions would be answered into the shell and its mouse and keyboard modes would outlive it.
 */

/** No more is kept of a longer sequence (pictures): without its end, it is like nothing that goes through. */
const MAX_SEQUENCE_CHARACTERS = 64 * 1024;

interface Token {
  kind: "text" | "control" | "sequence";
  text: string;
}

/** What a thread's output is put through, piece by piece. */
export interface TextFilter {
  push: (chunk: string) => string;
  /** What is still owed at the end. */
  end: () => string;
}

/** Leaves everything as it is. */
export function rawText(): TextFilter {
  return { push: (chunk) => chunk, end: () => "" };
}

/** No escape sequences and no control characters but tabs and line ends, which are `\n`. */
export function plainText(): TextFilter {
  const parser = new SequenceParser();
  let returns = "";
  const push = (chunk: string) => {
    let text = "";
    for (const token of parser.push(chunk)) {
      if (token.text === "\r") {
        returns = "\r";
      } else if (token.text === "\n") {
        text += "\n";
        returns = "";
      } else if (token.kind === "text" || token.text === "\t") {
        text += returns + token.text;
        returns = "";
      }
    }
    return text;
  };
  return { push, end: () => returns };
}

/** Private modes that only change the picture, and what takes them back. */
const PICTURE_MODES = new Map([
  [5, { normal: "l" }],
  [6, { normal: "l" }],
  [7, { normal: "h" }],
  [25, { normal: "h" }],
  [47, { normal: "l" }],
  [1047, { normal: "l" }],
  [1049, { normal: "l" }],
  [2026, { normal: "l" }],
]);

/** Bell to shift-in. */
const DRAWING_CONTROLS = "\x07\b\t\n\v\f\r\x0e\x0f";

/** What only draws: no questions to the terminal, no clipboard, no title, no mouse or keyboard modes. */
export function drawingOnly(): TextFilter {
  const parser = new SequenceParser();
  const changed = new Map<number, string>();
  let hasDrawn = false;
  let hasScrollRegion = false;
  const pass = (sequence: string): string => {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences start with a control character
    const [, prefix = "", params = "", final = ""] = /^\x1b\[([<-?]?)([^@-~]*)([@-~])$/.exec(sequence) ?? [];
    if (final !== "" && prefix === "?" && (final === "h" || final === "l")) {
      const modes = params
        .split(";")
        .map(Number)
        .filter((mode) => PICTURE_MODES.has(mode));
      for (const mode of modes) {
        if (PICTURE_MODES.get(mode)?.normal === final) changed.delete(mode);
        else changed.set(mode, final);
      }
      return modes.length > 0 ? `\x1b[?${modes.join(";")}${final}` : "";
    }
    if (final !== "") {
      const isCursorStyle = final === "q" && params.endsWith(" ");
      const draws = isCursorStyle || (/^[@A-HJ-MPSTX`abdefghlmrsu]$/.test(final) && !/[ -/]/.test(params));
      if (final === "r") hasScrollRegion = true;
      const clearsHistory = final === "J" && params === "3"; // the person's own history
      return prefix === "" && draws && !clearsHistory ? sequence : "";
    }
    // Cursor saved and restored, lines moved, character sets, hyperlinks.
    // biome-ignore lint/suspicious/noControlCharactersInRegex: as above
    return /^\x1b(?:[78DEHM]|[()*+][0-9A-Z]|#[3-8]|\]8;[^\x1b\x07]*(?:\x07|\x1b\\))$/.test(sequence)
      ? sequence
      : "";
  };
  const push = (chunk: string) => {
    let text = "";
    for (const token of parser.push(chunk)) {
      if (token.kind === "sequence") text += pass(token.text);
      // Enquiry asks for an answer; the 8-bit forms of sequences are as good as never used and could hide one.
      else if (token.kind === "text" || DRAWING_CONTROLS.includes(token.text)) text += token.text;
    }
    hasDrawn ||= text !== "";
    return text;
  };
  const end = () => {
    if (!hasDrawn) return "";
    const modes = [...changed].map(([mode]) => `\x1b[?${mode}${PICTURE_MODES.get(mode)?.normal}`).join("");
    return `${modes}${hasScrollRegion ? "\x1b7\x1b[r\x1b8" : ""}\x0f\x1b(B\x1b[0m`;
  };
  return { push, end };
}

/** Cuts terminal output into text, control characters and whole escape sequences, over any chunk boundaries. */
class SequenceParser {
  #state: "text" | "escape" | "csi" | "string" | "string-escape" = "text";
  #held = "";

  push(chunk: string): Token[] {
    const tokens: Token[] = [];
    let i = 0;
    while (i < chunk.length) {
      if (this.#state === "text") {
        const next = nextControl(chunk, i);
        if (next > i) tokens.push({ kind: "text", text: chunk.slice(i, next) });
        if (next < chunk.length) this.#control(chunk.charAt(next), tokens);
        i = next + 1;
      } else {
        this.#inSequence(chunk.charAt(i), tokens);
        i += 1;
      }
    }
    return tokens;
  }

  #control(character: string, tokens: Token[]): void {
    if (character === "\x1b") {
      this.#state = "escape";
      this.#held = character;
    } else {
      tokens.push({ kind: "control", text: character });
    }
  }

  #inSequence(character: string, tokens: Token[]): void {
    const isInString = this.#state === "string" || this.#state === "string-escape";
    const isCancelled = character === "\x18" || character === "\x1a";
    if (isCancelled) this.#finish(undefined, tokens);
    // Another sequence begins, or a control character is acted on in the midst of this one.
    else if (character < " " && !isInString) this.#control(character, tokens);
    else this.#addToSequence(character, tokens);
  }

  #addToSequence(character: string, tokens: Token[]): void {
    if (this.#held.length < MAX_SEQUENCE_CHARACTERS) this.#held += character;
    switch (this.#state) {
      case "escape":
        if (character === "[") this.#state = "csi";
        else if (/[\]PX^_]/.test(character)) this.#state = "string";
        else if (!/[ -/]/.test(character)) this.#finish("sequence", tokens);
        return;
      case "csi":
        if (/[@-~]/.test(character)) this.#finish("sequence", tokens);
        return;
      case "string":
        if (character === "\x07" || character === "\x9c") this.#finish("sequence", tokens);
        else if (character === "\x1b") this.#state = "string-escape";
        return;
      case "string-escape":
        this.#finish("sequence", tokens);
        // Not the string's end but the start of something else, which ends it all the same.
        if (character !== "\\") for (const token of this.push(`\x1b${character}`)) tokens.push(token);
        return;
      case "text":
        return;
    }
  }

  #finish(kind: "sequence" | undefined, tokens: Token[]): void {
    if (kind) tokens.push({ kind, text: this.#held });
    this.#state = "text";
    this.#held = "";
  }
}

function nextControl(text: string, from: number): number {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: this looks for them
  const control = /[\x00-\x1f\x7f-\x9f]/g;
  control.lastIndex = from;
  return control.exec(text)?.index ?? text.length;
}
