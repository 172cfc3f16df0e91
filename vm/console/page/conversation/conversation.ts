/** One agent thread: its transcript, what it asks, the line to write in, Stop and Go on. */
import type { ThreadEvent } from "../../../../shared/agent/events.ts";
import type { Live } from "../../../../shared/agent/files.ts";
import { cleanLine, cleanLines } from "../../../../shared/clean-text.ts";
import { goOn, readTranscript, stopTurn, undoTurn } from "../api.ts";
import type { ConnectionState } from "../connection.ts";
import { errorText, find, make } from "../dom.ts";
import { AsksPanel } from "./asks-panel.ts";
import { Composer } from "./composer.ts";
import { Feed, type News } from "./feed.ts";
import { drawRow } from "./row-view.ts";
import { SourceFilter } from "./source-filter.ts";
import type { Row } from "./story.ts";
import { type Block, Transcript } from "./transcript.ts";
import { VirtualList } from "./virtual-list.ts";

export interface ConversationOptions {
  threadId: string;
  onState: (state: ConnectionState) => void;
  onNews: (news: News) => void;
}

/** Until something is measured. */
const GUESSED_PX_PER_BYTE = 0.06;
/** Browsers draw nothing beyond some 17 million. */
const MAX_GUESSED_PX = 10_000_000;
const MAX_SPOKEN_CHARACTERS = 300;
const ASK_EVENTS: readonly ThreadEvent["type"][] = [
  "permission_request",
  "permission_response",
  "elicitation_request",
  "elicitation_response",
];

export class Conversation {
  readonly #options: ConversationOptions;
  readonly #transcript: Transcript;
  readonly #feed: Feed;
  readonly #list: VirtualList<Row, Block>;
  readonly #asks: AsksPanel;
  readonly #composer: Composer;
  readonly #sources: SourceFilter;
  readonly #opened = new Set<number>();
  #turnId: string | undefined;
  /** The newest turn whose files can be put back. */
  #changedTurnId: string | undefined;
  #status = "";
  #problem: string | null = null;
  #unseenCount = 0;
  #pxPerByte: number | undefined;
  #hasBegun = false;
  #isClosed = false;

  constructor(options: ConversationOptions) {
    this.#options = options;
    const { threadId } = options;
    const read = (since: number, limit: number) => readTranscript(threadId, { since, limit });
    this.#transcript = new Transcript(read, () => this.#list.update());
    this.#sources = new SourceFilter(() => this.#showSources());
    this.#list = new VirtualList({
      scroller: find("#transcript"),
      canvas: find("#rows"),
      sections: () => this.#transcript.blocks,
      guessSection: (block) => this.#guessBlock(block),
      guessRow,
      draw: (row) =>
        drawRow(row, {
          ...{ threadId, opened: this.#opened, sourceOf: this.#sources.sourceOf },
          onToggle: (toggled) => this.#toggle(toggled),
        }),
      onLook: (first, last) => this.#transcript.want(first, last),
      onFollow: () => this.#showNewest(),
    });
    this.#asks = new AsksPanel({
      threadId,
      onSay: say,
      onChange: () => this.#list.update(),
    });
    this.#composer = new Composer(threadId, () => this.#list.toEnd());
    find("#newest").onclick = () => this.#list.toEnd();
    find("#stop").onclick = () => void this.#control(() => stopTurn(threadId, this.#turnId), "Stopping …");
    find("#undo").onclick = () => void this.#undo();
    find("#go-on").onclick = () => void this.#control(() => goOn(threadId), "Going on …");
    this.#say("");
    this.#showLive(null);
    this.#feed = new Feed({
      threadId,
      transcript: this.#transcript,
      onNews: (news) => this.#read(news),
      onState: (state) => {
        if (state.kind === "over") this.#composer.setClosed(state.text);
        options.onState(state);
      },
    });
  }

  retryNow(): void {
    this.#feed.retryNow();
  }

  focus(): void {
    this.#composer.focus();
  }

  /** It was not to be seen, and has its size now. */
  update(): void {
    this.#list.update();
  }

  close(): void {
    this.#isClosed = true;
    this.#feed.close();
    this.#asks.close();
    this.#sources.close();
    this.#composer.leave();
    this.#list.dispose();
    this.#showLive(null);
  }

  #read(news: News): void {
    const { events, status, problem, live, isCurrent } = news;
    const wasAt = this.#status;
    this.#status = status;
    this.#problem = problem;
    for (const event of events) {
      if (event.type === "turn_start") this.#turnId = event.turnId;
      if (event.type === "turn_end") this.#turnId = undefined;
      if (event.type === "turn_changes" && event.files > 0) this.#changedTurnId = event.turnId;
      if (event.type === "undo" && event.status === "completed") this.#changedTurnId = undefined;
    }
    if (live?.turnId !== undefined) this.#turnId = live.turnId;
    this.#asks.read(events);
    this.#sources.read(events);
    const hasAskNews = events.some(({ type }) => ASK_EVENTS.includes(type));
    if (isCurrent && (!this.#hasBegun || hasAskNews || status !== wasAt)) void this.#asks.refresh();
    if (isCurrent && this.#hasBegun) announce(events);
    if (!this.#list.isFollowing) this.#unseenCount += events.length;
    if (isCurrent) this.#hasBegun = true;
    this.#showLive(["running", "waiting", "queued"].includes(status) ? live : null);
    this.#showNewest();
    this.#showControls();
    this.#list.update();
    this.#options.onNews(news);
  }

  #showSources(): void {
    this.#transcript.show(this.#sources.isShown);
    this.#list.toEnd();
  }

  #toggle(row: Row): void {
    if (!this.#opened.delete(row.seq)) this.#opened.add(row.seq);
    row.version += 1;
    this.#list.update();
  }

  /** What has not been drawn is taken to be as high, a byte, as what has. */
  #guessBlock({ from, to, heightPx }: Block): number {
    if (heightPx !== undefined) return heightPx;
    this.#pxPerByte ??= this.#measure();
    const limit = MAX_GUESSED_PX / Math.max(1, this.#transcript.end);
    return (to - from) * Math.min(this.#pxPerByte ?? GUESSED_PX_PER_BYTE, limit);
  }

  #measure(): number | undefined {
    const newest = this.#transcript.blocks.at(-1);
    const rows = newest?.rows?.filter(({ isHidden, isOut }) => !isHidden && !isOut) ?? [];
    const drawn = rows.filter((row) => row.heightPx !== undefined);
    if (!newest || drawn.length < 5) return undefined;
    const averagePx = drawn.reduce((sum, { heightPx = 0 }) => sum + heightPx, 0) / drawn.length;
    return (averagePx * rows.length) / (newest.to - newest.from);
  }

  #showNewest(): void {
    if (this.#list.isFollowing) this.#unseenCount = 0;
    const button = find("#newest");
    button.hidden = this.#list.isFollowing;
    button.textContent = this.#unseenCount > 0 ? "↓ There is more below" : "↓ To the newest";
  }

  #showControls(): void {
    const isRunning = this.#status === "running" || this.#status === "waiting";
    find("#stop").hidden = !isRunning;
    find("#undo").hidden = isRunning || this.#changedTurnId === undefined;
    const isStuck = this.#status === "failed" || this.#status === "paused";
    find("#go-on").hidden = !isStuck;
    if (!isRunning && !isStuck) this.#say("");
    if (this.#problem !== null) this.#say(this.#problem, true);
    const isOver = ["killed", "locked", "completed"].includes(this.#status);
    this.#composer.setClosed(isOver ? `The thread is over: ${this.#status}.` : "");
  }

  async #undo(): Promise<void> {
    const turnId = this.#changedTurnId;
    if (turnId !== undefined)
      await this.#control(() => undoTurn(this.#options.threadId, turnId), "Putting the files back …");
  }

  async #control(send: () => Promise<void>, text: string): Promise<void> {
    this.#say(text);
    try {
      await send();
    } catch (error) {
      if (!this.#isClosed) this.#say(errorText(error), true);
    }
  }

  #say(text: string, isBad = false): void {
    const notice = find("#control-notice");
    notice.textContent = cleanLine(text);
    notice.hidden = text === "";
    notice.classList.toggle("bad", isBad);
  }

  /** What happens this moment; the transcript has it when it is done. */
  #showLive(live: Live | null): void {
    const parts: HTMLElement[] = [];
    if (live?.text) {
      const className = live.text.thought ? "quiet" : "words";
      parts.push(make("p", `live ${className}`, [cleanLines(live.text.text), make("span", "cursor")]));
    } else if (live?.step && !this.#transcript.showsRunning(live.step.stepId)) {
      parts.push(make("p", "live quiet", [`◌ ${cleanLine(live.step.title)} …`]));
    }
    if (live?.retry) {
      parts.push(
        make("p", "live warning", [`Attempt ${live.retry.attempt}: ${cleanLine(live.retry.error)}`]),
      );
    }
    find("#live").replaceChildren(...parts);
  }
}

function guessRow({ event }: Row): number {
  if (event.type !== "agent_message" && event.type !== "user_message") return 36;
  const text = event.type === "agent_message" ? event.text : JSON.stringify(event.content);
  return 30 + 22 * Math.ceil(text.length / 80 + text.split("\n").length / 2);
}

/** People who hear the page are told what is new, in a few words. */
function announce(events: readonly ThreadEvent[]): void {
  for (const event of events) {
    if (event.type === "agent_message" && event.parentToolCallId === undefined) say(event.text);
    if (event.type === "turn_end")
      say(event.stopReason === "end_turn" ? "The turn is done." : "The turn has ended.");
    if (event.type === "failure") say(`The agent can't go on. ${event.message}`);
  }
}

function say(text: string): void {
  const line = make("p", "", [cleanLines(text).slice(0, MAX_SPOKEN_CHARACTERS)]);
  const region = find("#spoken");
  region.append(line);
  while (region.childElementCount > 5) region.firstElementChild?.remove();
}
