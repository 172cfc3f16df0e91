/** Does what people ask of a page. What it can't do it says in a sentence. */
import { parseAddress } from "../shared/browser/address.ts";
import { isSaidOf, wordsOfMark } from "../shared/browser/mark-words.ts";
import type { BrowserOp } from "../shared/browser/ops.ts";
import { VIEW } from "../shared/browser/spec.ts";
import type { Mark } from "../shared/browser/state.ts";
import { AppError, assertNever, errorText } from "../shared/errors.ts";
import { pause, withDeadline } from "../shared/lifecycle.ts";
import type { Located } from "./marks.ts";
import type { Tab } from "./tab.ts";

/** Until a page's server begins to answer. */
const COMMIT_MS = 20_000;
/** Until what it names has come too; then the page is shown as it is. */
const LOAD_MS = 6_000;
/** A click takes so long to begin what it causes. */
const BEGIN_MS = 250;
/** Keys and clicks wait for the page's scripts. */
const INPUT_MS = 5_000;

/** The pictures whose numbers still count, with what these stand on. */
export interface Pictures {
  readonly newest: number;
  marksOf(picture: number): readonly Mark[] | undefined;
}

/** @throws AppError `invalid_request`, `not_found`; Error if the page does not come, or does not answer */
export async function perform(tab: Tab, op: BrowserOp, pictures: Pictures): Promise<void> {
  const { page } = tab;
  switch (op.do) {
    case "open": {
      const { href } = parseAddress(op.url);
      return go(tab, () => page.goto(href, { waitUntil: "commit", timeout: COMMIT_MS }));
    }
    case "back":
      return history(tab, "back");
    case "forward":
      return history(tab, "forward");
    case "reload":
      return go(tab, () => page.reload({ waitUntil: "commit", timeout: COMMIT_MS }));
    case "click": {
      const place = placeOf(op.number, await locate(tab, op, pictures));
      await input(page.mouse.click(place.x, place.y));
      return settle(tab);
    }
    case "type":
      return type(tab, op, pictures);
    case "press":
      await input(page.keyboard.press(op.key));
      return settle(tab);
    case "scroll":
      return scroll(tab, op.to);
    case "stop":
      return tab.stopLoading();
    case "look":
      return undefined;
    default:
      return assertNever(op);
  }
}

async function go(tab: Tab, begin: () => Promise<unknown>): Promise<void> {
  try {
    await begin();
  } catch (error) {
    if (error instanceof AppError) throw error;
    const text = errorText(error).split("\n")[0] ?? "";
    if (text.includes("Download is starting")) return;
    throw new Error(whyNot(text));
  }
  await loaded(tab);
}

async function history(tab: Tab, to: "back" | "forward"): Promise<void> {
  const { page } = tab;
  const before = page.url();
  await go(tab, async () => {
    const how = { waitUntil: "commit", timeout: COMMIT_MS } as const;
    const reply = await (to === "back" ? page.goBack(how) : page.goForward(how));
    if (reply === null && page.url() === before)
      throw new AppError(
        "not_found",
        to === "back" ? "There is no page to go back to." : "There is no page after this one.",
      );
  });
}

async function type(tab: Tab, op: Extract<BrowserOp, { do: "type" }>, pictures: Pictures): Promise<void> {
  const { page } = tab;
  if (op.number !== undefined) {
    const located = await locate(tab, { ...op, number: op.number }, pictures, op.text);
    if ("why" in located && located.why === "chosen") return settle(tab);
    const place = placeOf(op.number, located);
    if (!place.isField)
      throw new AppError(
        "invalid_request",
        `number: ${op.number} takes no text; click it, or choose a field.`,
      );
    // The script has selected what stands in a field with a selection; a click would unselect it.
    await input(page.mouse.click(place.x, place.y, { clickCount: 3 }));
  }
  await input(page.keyboard.insertText(op.text));
  if (op.enter) await input(page.keyboard.press("Enter"));
  await settle(tab);
}

async function scroll({ page }: Tab, to: Extract<BrowserOp, { do: "scroll" }>["to"]): Promise<void> {
  const [across, down] = [VIEW.width * 0.8, VIEW.height * 0.8];
  const FAR = 10_000_000;
  const [x, y] = {
    ...{ up: [0, -down], down: [0, down], left: [-across, 0], right: [across, 0] },
    ...{ top: [0, -FAR], bottom: [0, FAR] },
  }[to] as [number, number];
  // What scrolls is what the pointer is above.
  await input(page.mouse.move(VIEW.width / 2, VIEW.height / 2));
  await input(page.mouse.wheel(x, y));
  await pause(BEGIN_MS);
}

async function locate(
  { marks }: Tab,
  { number, picture, what }: { number: number; picture?: number | undefined; what?: string | undefined },
  pictures: Pictures,
  typed?: string,
): Promise<Located> {
  const asked = picture ?? pictures.newest;
  const standing = pictures.marksOf(asked);
  if (standing === undefined)
    throw new AppError(
      "not_found",
      `picture: ${asked} is too old; choose a number on the newest one, ${pictures.newest}.`,
    );
  const mark = standing[number - 1];
  if (mark === undefined) {
    const has = standing.length === 0 ? "no numbers" : `the numbers 1 to ${standing.length}`;
    throw new AppError("invalid_request", `number: the picture has ${has}, not ${number}.`);
  }
  if (what !== undefined && !isSaidOf(mark, what))
    throw new AppError(
      "invalid_request",
      `what: at ${number} of picture ${asked} stands: ${wordsOfMark(mark)}`,
    );
  return marks.locate(asked, number, typed);
}

function placeOf(number: number, located: Located): Extract<Located, { x: number }> {
  if ("x" in located) return located;
  switch (located.why) {
    case "unknown":
      throw new AppError(
        "not_found",
        "The page is another one than on that picture; look at the newest one.",
      );
    case "gone":
      throw new AppError(
        "not_found",
        `number: ${number} is no longer on the page; look at the newest picture.`,
      );
    case "hidden":
      throw new AppError("not_found", `number: ${number} is not in sight any more; scroll to it.`);
    case "covered":
      throw new AppError("not_found", `number: something covers ${number} now; look at the newest picture.`);
    case "no choice":
      throw new AppError(
        "invalid_request",
        `text: no choice of ${number} begins so. There is: ${located.text ?? "none"}.`,
      );
    case "chosen":
      throw new Error("a choice is made without a text");
    default:
      return assertNever(located.why);
  }
}

async function settle(tab: Tab): Promise<void> {
  await pause(BEGIN_MS);
  await loaded(tab);
}

/** Until the page has loaded, or for as long as that is waited for. */
async function loaded({ page }: Tab): Promise<void> {
  await page.waitForLoadState("load", { timeout: LOAD_MS }).catch(() => undefined); // it is shown as it is
  await pause(BEGIN_MS);
}

function input(work: Promise<void>): Promise<void> {
  return withDeadline(work, INPUT_MS, "the page's answer");
}

const REASONS: readonly (readonly [RegExp, string])[] = [
  [/ERR_NAME_NOT_RESOLVED/, "its name does not resolve"],
  [/ERR_TUNNEL_CONNECTION_FAILED|ERR_PROXY/, "there is no connection to it"],
  [/ERR_CONNECTION_REFUSED/, "it refuses connections"],
  [/ERR_CERT|ERR_SSL/, "its certificate or its encryption is not good"],
  [/ERR_ABORTED/, "it was stopped"],
  [/ERR_TOO_MANY_REDIRECTS/, "it redirects again and again"],
  [/ERR_UNSAFE_PORT/, "its port is closed to browsers"],
  [/ERR_EMPTY_RESPONSE/, "it answers nothing"],
  [/Timeout \d+ms exceeded/, `it did not begin to answer within ${COMMIT_MS / 1_000} s`],
];

function whyNot(text: string): string {
  const [, reason] = REASONS.find(([pattern]) => pattern.test(text)) ?? [];
  return `The page did not come: ${reason ?? text.replace(/^page\.\w+: /, "").slice(0, 200)}.`;
}
