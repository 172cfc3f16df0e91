import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { PageView } from "../content/document.ts";
import { BLANK_PAGE } from "../content/pages.ts";
import { deleteNewest, type PlanInput, planPages, SCREEN_PREFIX, type SentMessage } from "./plan.ts";

const view = (index: number, text: string, isSealed = false): PageView => ({
  kind: "log",
  index,
  text,
  isSealed,
});
const sent = (id: string, text: string | undefined, hasKeys = false): SentMessage => ({ id, text, hasKeys });
const plan = (input: Partial<PlanInput>) =>
  planPages({
    views: [],
    confirmed: 0,
    pages: new Map(),
    screen: undefined,
    wantsKeys: false,
    dropsSurplus: false,
    isTooOld: () => false,
    ...input,
  });

describe("the next action", () => {
  test("nothing where all is as it should be", () => {
    const views = [view(0, "a", true), view(1, "b")];
    const pages = new Map([
      [0, sent("1", "a")],
      [1, sent("2", "b", true)],
    ]);
    expect(plan({ views, pages, wantsKeys: true })).toEqual({ action: undefined, confirmed: 1 });
  });

  test("a page without a message is sent, with keys where it is the last one", () => {
    const { action } = plan({ views: [view(0, "a", true), view(1, "b")], wantsKeys: true });
    expect(action).toEqual({ kind: "send", index: 0, isScreen: false, want: { text: "a", hasKeys: false } });
  });

  test("what was deleted above a later page is not sent again below it", () => {
    const gone = { ...sent("1", "a"), isGone: true };
    const views = [view(0, "a", true), view(1, "b")];
    const pages = new Map([
      [0, gone],
      [1, sent("2", "b")],
    ]);
    expect(plan({ views, pages })).toEqual({ action: undefined, confirmed: 1 });
    expect(plan({ views, pages: new Map([[1, sent("2", "b")]]) }).action).toBeUndefined();
  });

  test("surplus pages go blank, or are deleted from the end", () => {
    const pages = new Map([
      [0, sent("1", "a")],
      [1, sent("2", "b")],
      [2, sent("3", "c")],
    ]);
    const want = { text: BLANK_PAGE, hasKeys: false };
    const input = { views: [view(0, "a")], pages };
    expect(plan(input).action).toMatchObject({ kind: "edit", index: 2, want });
    expect(plan({ ...input, dropsSurplus: true }).action).toMatchObject({ kind: "delete", index: 2 });
  });

  test("a live message that is too old is rolled, a sealed one only edited", () => {
    const pages = new Map([[0, sent("1", "old")]]);
    const isTooOld = () => true;
    expect(plan({ views: [view(0, "new")], pages, isTooOld }).action?.kind).toBe("roll");
    expect(plan({ views: [view(0, "new", true)], pages, isTooOld }).action?.kind).toBe("edit");
    expect(plan({ views: [view(0, "old")], pages, isTooOld }).action).toBeUndefined();
  });

  test("a full screen is one message, edited in place, and carries the keys", () => {
    const picture: PageView = { kind: "screen", index: 1, text: "vim", isSealed: false };
    const views = [view(0, "$ vim"), picture];
    const pages = new Map([[0, sent("1", "$ vim")]]);
    const want = { text: `${SCREEN_PREFIX}vim`, hasKeys: true };
    const input = { views, pages, wantsKeys: true };
    expect(plan(input).action).toEqual({ kind: "send", index: 1, isScreen: true, want });
    const older = { index: 0, message: sent("2", "x") };
    expect(plan({ ...input, screen: older }).action?.kind).toBe("send");
    const same = { index: 1, message: sent("2", "x") };
    expect(plan({ ...input, screen: same }).action).toMatchObject({ kind: "edit", isScreen: true, want });
  });
});

/** Discord as far as a plan sees it: messages in the order in which they were sent. */
class Model {
  readonly messages = new Map<string, { text: string; hasKeys: boolean }>();
  readonly pages = new Map<number, SentMessage>();
  screen: PlanInput["screen"];
  confirmed: number;
  #nextId = 1;

  constructor(first: number) {
    this.confirmed = first;
  }

  send(text: string, hasKeys: boolean): SentMessage {
    const id = String(this.#nextId++).padStart(6, "0");
    this.messages.set(id, { text, hasKeys });
    return { id, text, hasKeys };
  }

  apply(input: Omit<PlanInput, "pages" | "screen" | "confirmed">): boolean {
    const { pages, screen } = this;
    const { action, confirmed } = planPages({ ...input, pages, screen, confirmed: this.confirmed });
    this.confirmed = confirmed;
    switch (action?.kind) {
      case undefined:
        return false;
      case "send": {
        const message = this.send(action.want.text, action.want.hasKeys);
        if (action.isScreen) this.screen = { index: action.index, message };
        else pages.set(action.index, message);
        return true;
      }
      case "edit":
        this.messages.set(action.message.id, { ...action.want });
        Object.assign(action.message, action.want);
        return true;
      case "roll":
        return this.#delete(deleteNewest(pages, action));
      case "delete":
        return this.#delete(action);
    }
  }

  #delete(action: ReturnType<typeof deleteNewest>): boolean {
    if (action.kind !== "delete") throw new Error(`to delete: ${action.kind}`);
    this.messages.delete(action.message.id);
    return this.pages.delete(action.index);
  }

  texts(): string[] {
    return [...this.messages].sort(([a], [b]) => a.localeCompare(b)).map(([, { text }]) => text);
  }
}

const texts = fc.array(fc.constantFrom("a", "b", "c", "d"), { maxLength: 5 });
const sentPages = fc.array(
  fc.record({
    text: fc.constantFrom("a", "b", "c", "d"),
    isKnown: fc.boolean(),
    hasKeys: fc.boolean(),
    isTooOld: fc.boolean(),
  }),
  { maxLength: 7 },
);

test("from any messages, Discord ends with exactly the wanted pages", () => {
  fc.assert(
    fc.property(
      fc.record({
        first: fc.nat(3),
        sealed: texts,
        live: texts,
        picture: fc.option(fc.constantFrom("x", "y"), { nil: undefined }),
        old: sentPages,
        deleted: fc.uniqueArray(fc.nat(6), { maxLength: 3 }),
        wantsKeys: fc.boolean(),
        dropsSurplus: fc.boolean(),
      }),
      ({ first, sealed, live, picture, old, deleted, wantsKeys, dropsSurplus }) => {
        const model = new Model(first);
        const tooOld = new Set<string>();
        for (const [i, page] of old.entries()) {
          const message = model.send(page.text, page.hasKeys);
          if (!page.isKnown) Object.assign(message, { text: undefined, hasKeys: undefined });
          if (page.isTooOld) tooOld.add(message.id);
          model.pages.set(first + i, message);
        }
        for (const i of deleted) {
          const message = model.pages.get(first + i);
          if (!message) continue;
          model.messages.delete(message.id);
          // As the stream has it: the last one is forgotten, others keep their place.
          if ([...model.pages].some(([other, { isGone }]) => other > first + i && !isGone))
            message.isGone = true;
          else model.pages.delete(first + i);
        }
        const views: PageView[] = [...sealed, ...live].map((text, i) =>
          view(first + i, text, i < sealed.length),
        );
        if (picture !== undefined) views.push({ kind: "screen", index: 0, text: picture, isSealed: false });
        const isTooOld = (id: string) => tooOld.has(id);
        let steps = 0;
        while (model.apply({ views, wantsKeys, dropsSurplus, isTooOld }))
          if (++steps > 4 * (views.length + old.length + 2)) throw new Error("it does not end");

        const missing = [...model.pages].filter(([, { isGone }]) => isGone).map(([index]) => index);
        const wanted = views
          .filter(({ kind, index }) => kind === "screen" || !missing.includes(index))
          .map(({ kind, text }) => (kind === "screen" ? SCREEN_PREFIX + text : text));
        const shown = model.texts().filter((text) => dropsSurplus || text !== BLANK_PAGE);
        expect(shown).toEqual(wanted);
        // What still changes goes missing only where something stands below it.
        const isThereBelow = (index: number) =>
          [...model.pages].some(([other, { isGone }]) => other > index && !isGone);
        for (const { index, isSealed, kind } of views)
          if (kind === "log" && !isSealed && missing.includes(index)) expect(isThereBelow(index)).toBe(true);
        expect(model.confirmed).toBeGreaterThanOrEqual(first + sealed.length);
      },
    ),
    { numRuns: 500 },
  );
});
