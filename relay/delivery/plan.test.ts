import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { questionControls } from "../actions/pick.ts";
import type { Page } from "../content/content.ts";
import { deleteNewest, isNewest, planPages, type SentMessage, shownBy } from "./plan.ts";

const page = (key: string, text: string, more: Partial<Page> = {}): Page => ({
  key,
  text,
  buttons: [],
  isSealed: false,
  presence: "wanted",
  isAside: false,
  notBefore: 0,
  ...more,
});
const sent = (id: string, text: string): SentMessage => ({
  id,
  shows: shownBy({ text, buttons: [] }),
  isGone: false,
});
type Messages = Record<string, SentMessage>;
const plan = (pages: Page[], messages: Messages = {}, isTooOld = (_id: string) => false) =>
  planPages({ pages, find: (key) => messages[key], isTooOld });

describe("what is to be done", () => {
  test("nothing if all is as it should be; what is sealed is delivered", () => {
    const pages = [page("a", "1", { isSealed: true }), page("b", "2")];
    expect(plan(pages, { a: sent("1", "1"), b: sent("2", "2") })).toEqual({ actions: [], delivered: ["a"] });
  });

  test("one message is sent at a time, the first; edits need not wait for it", () => {
    const pages = [page("a", "new"), page("b", "2"), page("c", "3")];
    const { actions } = plan(pages, { a: sent("1", "old") });
    expect(actions).toEqual([
      { kind: "edit", page: pages[0], id: "1" },
      { kind: "send", page: pages[1] },
    ]);
  });

  test("other buttons are another message; what it shows is unknown after a restart", () => {
    const button = { id: "done", label: "Done", style: "danger" } as const;
    const pages = [page("a", "1", { buttons: [button] })];
    expect(plan(pages, { a: sent("1", "1") }).actions[0]?.kind).toBe("edit");
    expect(plan([page("a", "1")], { a: { ...sent("1", "1"), shows: undefined } }).actions[0]?.kind).toBe(
      "edit",
    );
  });

  test("what a person has chosen from the lists of an ask is no reason to edit it: an edit would take it back", () => {
    const options = (labels: string[]) => labels.map((label) => ({ label }));
    const asked = ["Which base?", "Which place?"].map((text, i) => ({
      ...{ question: text, header: "", multiSelect: false },
      options: options(i === 0 ? ["SQLite", "Postgres"] : ["Here", "There"]),
    }));
    const controls = (chosen: number[][]) => questionControls(asked, "r1", chosen);
    const pages = [page("a", "Which?", { ...controls([]), isAside: true })];
    const shown = (more: ReturnType<typeof controls>, text = "Which?") => ({
      a: { ...sent("1", text), shows: shownBy({ text, ...more }) },
    });
    expect(controls([[1], []]).buttons).toHaveLength(controls([]).buttons.length + 1);
    expect(plan(pages, shown(controls([[1], []]))).actions).toEqual([]);
    // Another ask, another text and an ask that is answered are edited.
    const others = questionControls(asked, "r2", []);
    expect(plan(pages, shown(others)).actions).toMatchObject([{ kind: "edit", takesButtons: true }]);
    expect(plan(pages, shown(controls([[1], []]), "Other?")).actions).toMatchObject([{ kind: "edit" }]);
    const answered = [page("a", "Which?", { isAside: true })];
    expect(plan(answered, shown(controls([[1], []]))).actions).toMatchObject([
      { kind: "edit", takesButtons: true },
    ]);
  });

  test("what was deleted above a later page is not sent again below it", () => {
    const pages = [page("a", "1", { isSealed: true }), page("b", "2")];
    const gone = { ...sent("1", "1"), isGone: true };
    expect(plan(pages, { a: gone, b: sent("2", "2") })).toEqual({ actions: [], delivered: ["a"] });
    const live = [page("a", "1"), page("b", "2")];
    expect(plan(live, { a: gone, b: sent("2", "2") }).actions).toEqual([]);
  });

  test("what never had a message is sent, below later pages if these were sent before it", () => {
    const pages = [page("a", "1", { isSealed: true }), page("b", "2", { isSealed: true }), page("c", "3")];
    const messages = { b: sent("1", "2"), c: sent("2", "3") };
    expect(plan(pages, messages)).toEqual({
      actions: [{ kind: "send", page: pages[0] }],
      delivered: ["b"],
    });
    expect(plan(pages, { ...messages, a: sent("3", "1") })).toEqual({ actions: [], delivered: ["a", "b"] });
  });

  test("an answered ask that was deleted stays away, and comes back if it is asked again", () => {
    const gone = { a: { ...sent("1", "1"), isGone: true } };
    const ask = page("a", "1", { isAside: true });
    expect(plan([{ ...ask, isSealed: true }], gone)).toEqual({ actions: [], delivered: ["a"] });
    expect(plan([ask], gone).actions).toEqual([{ kind: "send", page: ask }]);
  });

  test("a page goes below an aside, not below another page", () => {
    const pages = [page("a", "1"), page("b", "2"), page("s", "picture", { isAside: true })];
    const messages = { a: sent("1", "1"), s: sent("2", "picture") };
    expect(plan(pages, messages).actions).toEqual([{ kind: "send", page: pages[1] }]);
  });

  test("kept pages are edited and never sent, unwanted ones deleted from the end", () => {
    const kept = page("b", "", { presence: "kept" });
    expect(plan([page("a", "1"), kept], { a: sent("1", "1") }).actions).toEqual([]);
    expect(plan([kept], { b: sent("2", "2") }).actions).toEqual([{ kind: "edit", page: kept, id: "2" }]);
    const unwanted = ["b", "c"].map((key) => page(key, "", { presence: "unwanted" }));
    const messages: Messages = { b: sent("2", "2"), c: sent("3", "3") };
    expect(plan(unwanted, messages).actions).toEqual([{ kind: "delete", key: "c", id: "3" }]);
  });

  test("edits that take buttons away come first, an aside's before others; what follows stays in its order", () => {
    const button = (id: string) => ({ id, label: id, style: "secondary" }) as const;
    const shows = (text: string, ...ids: string[]) => shownBy({ text, buttons: ids.map(button) });
    const pages = [
      page("a", "new"),
      page("b", "same", { buttons: [button("x"), button("y")] }),
      page("c", "one left", { buttons: [button("x")] }),
      page("d", "decided", { isAside: true, isSealed: true }),
      page("e", "next"),
    ];
    const { actions } = plan(pages, {
      a: sent("1", "old"),
      b: { ...sent("2", ""), shows: shows("same", "x") },
      c: { ...sent("3", ""), shows: shows("one left", "x", "y") },
      d: { ...sent("4", ""), shows: shows("asked", "x", "y") },
    });
    expect(actions.map((action) => ("page" in action ? `${action.kind} ${action.page.key}` : ""))).toEqual([
      "edit d",
      "edit c",
      "edit a",
      "edit b",
      "send e",
    ]);
    // Nobody knows what it shows: it has to wait for its turn.
    const unknown = { ...sent("3", ""), shows: undefined };
    expect(plan(pages, { a: sent("1", "old"), c: unknown }).actions[0]).toMatchObject({ id: "1" });
  });

  test("what is only changed if it is there, and is not, is delivered", () => {
    const kept = page("a", "", { presence: "kept", isSealed: true });
    expect(plan([kept])).toEqual({ actions: [], delivered: ["a"] });
    expect(plan([kept], { a: sent("1", "text") }).actions).toMatchObject([{ kind: "edit", id: "1" }]);
  });

  test("a live message that is too old is rolled, a sealed one only edited", () => {
    const isOld = () => true;
    const messages = { a: sent("1", "old") };
    expect(plan([page("a", "new")], messages, isOld).actions[0]?.kind).toBe("roll");
    expect(plan([page("a", "new", { isSealed: true })], messages, isOld).actions[0]?.kind).toBe("edit");
    expect(plan([page("a", "new", { isAside: true })], messages, isOld).actions[0]?.kind).toBe("edit");
    expect(plan([page("a", "old")], messages, isOld).actions).toEqual([]);
  });
});

/** Discord as far as a plan sees it: messages in the order in which they were sent. */
class Model {
  readonly messages = new Map<string, string>();
  readonly rows = new Map<string, SentMessage>();
  readonly delivered = new Set<string>();
  #nextId = 1;

  send(key: string, text: string): string {
    const id = String(this.#nextId++).padStart(6, "0");
    this.messages.set(id, text);
    this.rows.set(key, sent(id, text));
    return id;
  }

  /** As a person does it, and the ledger notes it. */
  delete(pages: readonly Page[], key: string): void {
    const message = this.rows.get(key);
    if (!message) return;
    this.messages.delete(message.id);
    if (isNewest({ pages, find: (other) => this.rows.get(other) }, key)) this.rows.delete(key);
    else this.rows.set(key, { ...message, isGone: true });
  }

  /** @param choose which of the actions is done: any of them may be the first that need not wait. */
  step(pages: readonly Page[], isTooOld: (id: string) => boolean, choose: number): boolean {
    const find = (key: string) => this.rows.get(key);
    const { actions, delivered } = planPages({ pages, find, isTooOld });
    for (const key of delivered) this.delivered.add(key);
    const chosen = actions[choose % Math.max(1, actions.length)];
    if (!chosen) return false;
    const action = chosen.kind === "roll" ? deleteNewest({ pages, find }, chosen.page.key) : chosen;
    if (action.kind === "send") this.send(action.page.key, action.page.text);
    else if (action.kind === "delete") {
      this.messages.delete(action.id);
      this.rows.delete(action.key);
    } else {
      this.messages.set(action.id, action.page.text);
      this.rows.set(action.page.key, sent(action.id, action.page.text));
    }
    return true;
  }
}

const text = fc.constantFrom("a", "b", "c", "d");
const life = fc.record({
  sealed: fc.array(text, { maxLength: 5 }),
  live: fc.array(text, { maxLength: 5 }),
  picture: fc.option(fc.constantFrom("x", "y"), { nil: undefined }),
  old: fc.array(fc.record({ text, isKnown: fc.boolean(), isTooOld: fc.boolean() }), { maxLength: 7 }),
  deleted: fc.uniqueArray(fc.nat(6), { maxLength: 3 }),
  skipped: fc.uniqueArray(fc.nat(6), { maxLength: 2 }),
  surplus: fc.constantFrom("kept" as const, "unwanted" as const),
  choices: fc.infiniteStream(fc.nat(5)),
});

test("from any messages, in any order of actions, Discord ends with exactly the wanted pages", () => {
  fc.assert(
    fc.property(life, ({ sealed, live, picture, old, deleted, skipped, surplus, choices }) => {
      const model = new Model();
      const tooOld = new Set<string>();
      const pages = [...sealed, ...live].map((content, i) =>
        page(`p${i}`, content, { isSealed: i < sealed.length }),
      );
      for (let i = pages.length; i < old.length; i++)
        pages.push(page(`p${i}`, "blank", { presence: surplus }));
      if (picture !== undefined) pages.push(page("s0", picture, { isAside: true }));
      for (const [i, message] of old.entries()) {
        // An earlier process listed other pages, and never sent this one.
        if (skipped.includes(i)) continue;
        const id = model.send(`p${i}`, message.text);
        if (!message.isKnown) model.rows.set(`p${i}`, { id, shows: undefined, isGone: false });
        if (message.isTooOld) tooOld.add(id);
      }
      for (const i of deleted) model.delete(pages, `p${i}`);

      let steps = 0;
      const [first, ...more] = [choices.next().value ?? 0];
      while (model.step(pages, (id) => tooOld.has(id), choices.next().value ?? first + more.length))
        if (++steps > 4 * (pages.length + old.length + 2)) throw new Error("it does not end");

      const isMissing = ({ key }: Page) => model.rows.get(key)?.isGone ?? !model.rows.has(key);
      const wanted = pages.filter((one) => !isMissing(one) && one.presence !== "unwanted");
      const isSkipped = skipped.some((i) => i < old.length);
      const inOrder = (texts: string[]) => {
        const logs = texts.filter((one) => one !== "x" && one !== "y");
        return isSkipped ? logs.sort() : logs;
      };
      expect(
        inOrder([...model.messages].sort(([a], [b]) => a.localeCompare(b)).map(([, one]) => one)),
      ).toEqual(inOrder(wanted.map((one) => one.text)));
      if (picture !== undefined) expect([...model.messages.values()]).toContain(picture);
      // A wanted page is missing only if it was deleted, and something stands below its place.
      for (const [index, one] of pages.entries()) {
        if (one.presence !== "wanted" || !isMissing(one)) continue;
        expect(model.rows.has(one.key)).toBe(true);
        const isThereBelow = pages.slice(index + 1).some((other) => !other.isAside && !isMissing(other));
        expect(isThereBelow || one.isSealed).toBe(true);
      }
      for (const one of pages.filter(({ isSealed }) => isSealed)) expect(model.delivered).toContain(one.key);
    }),
    { numRuns: 500 },
  );
});
