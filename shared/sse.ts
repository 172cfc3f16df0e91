/** Server-Sent Events as they are read: https://html.spec.whatwg.org/multipage/server-sent-events.html */

export interface SseMessage {
  /** The newest id that was given, here or before; empty if there was none. */
  id: string;
  type: string;
  /** Empty if only an id was given. */
  data: string;
}

/** A line that is longer than this is no event of ours. */
const MAX_LINE_CHARACTERS = 1024 * 1024;

/** Takes a stream piece by piece. */
export class SseParser {
  #rest = "";
  #id = "";
  #type = "";
  #data: string[] = [];
  #hasId = false;

  /** @returns what is whole now. @throws Error if a line has no end */
  push(text: string): SseMessage[] {
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop() ?? "";
    if (this.#rest.length > MAX_LINE_CHARACTERS) throw new Error("a line of the stream has no end");
    return lines.flatMap((line) => this.#take(line.endsWith("\r") ? line.slice(0, -1) : line));
  }

  #take(line: string): SseMessage[] {
    if (line === "") return this.#end();
    const colon = line.indexOf(":");
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "id") {
      this.#id = value;
      this.#hasId = true;
    } else if (name === "event") this.#type = value;
    else if (name === "data") this.#data.push(value);
    return [];
  }

  #end(): SseMessage[] {
    const message = { id: this.#id, type: this.#type, data: this.#data.join("\n") };
    const isNews = this.#hasId || this.#data.length > 0;
    this.#type = "";
    this.#data = [];
    this.#hasId = false;
    return isNews ? [message] : [];
  }
}
