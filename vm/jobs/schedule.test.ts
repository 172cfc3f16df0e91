/** When jobs are due: what is refused, over clock changes, and after the clock or the sidecar stood still. */
import { describe, expect, test } from "vitest";
import type { CheckedWhen, ClockWhen } from "../../shared/jobs/when.ts";
import { graceMs, lastDue, nextDue, nextDues, parseWhen } from "./schedule.ts";
import { findZone, wallOf } from "./zone.ts";

const NOW = Date.parse("2027-01-05T08:30:00Z"); // a Tuesday
const BERLIN = "Europe/Berlin";
const NEW_YORK = "America/New_York";
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

const parse = (sent: CheckedWhen, nowMs = NOW) => parseWhen(sent, { nowMs, zone: "UTC" });
const cron = (text: string, zone = BERLIN): ClockWhen => ({ type: "cron", cron: text, zone });
const words = (text: string, zone = BERLIN) => parse({ type: "words", words: text, zone });
const duesOf = (when: ClockWhen, from: string, count: number) =>
  nextDues({ when, madeAt: NOW }, Date.parse(from), count).map((ms) =>
    new Date(ms).toISOString().slice(0, 16),
  );

describe("what is refused", () => {
  test.each([
    ["", /^when\.cron: is empty; write five fields/],
    ["   ", /is empty/],
    ["0 0 9 * * 1-5", /^when\.cron: has 6 fields, five are wanted .*seconds and years are not taken\.$/],
    ["* * * *", /has 4 fields, five are wanted/],
    ["0 9 1 * 1", /both set.*"0 9 1 \* \*" and "0 9 \* \* 1".*"0 9 1 \* \+1"/],
    ["0 9 */2 * MON-FRI", /both set/],
    ["0 0 30 2 *", /never due: there is no day 30 in month 2/],
    ["0 0 31 4,6 *", /never due/],
    ["5/15 * * * *", /minute: "5\/15" steps from one value; write \*\/15, or a range such as 5-59\/15/],
    ["60 * * * *", /minute: "60" is not one of 0 to 59/],
    ["0 24 * * *", /hour: "24" is not one of 0 to 23/],
    ["0 0 32 * *", /day-of-month: "32" is not one of 1 to 31/],
    ["0 0 0 * *", /day-of-month: "0"/],
    ["0 0 * 13 *", /month: "13" is not one of 1 to 12 or JAN to DEC/],
    ["0 0 * * MONDAY", /day-of-week: "MONDAY" is not one of 0 to 7 or SUN to SAT/],
    ["0 0 * * 8", /day-of-week: "8"/],
    ["0 22-6 * * *", /hour: "22-6" begins after its end; write 22-23,0-6/],
    ["*/0 * * * *", /minute: "\*\/0" has a step that is not 1 to 59/],
    ["*/99 * * * *", /has a step that is not 1 to 59/],
    ["1,,2 * * * *", /minute: "" is no value/],
    ["1-2-3 * * * *", /is no range/],
    ["-5 * * * *", /minute/],
    ["1.5 * * * *", /minute: "1.5"/],
    ["0 0 L-3 * *", /day-of-month/],
    ["0 0 * * 5#6", /day-of-week/],
    ["@daily", /@daily is not taken; write "0 0 \* \* \*"/],
    ["@every 10s", /@every/],
    ["@reboot", /@reboot is not taken/],
    ["H 9 * * *", /minute: "H"/],
  ])("the expression %j", (text, problem) => {
    expect(() => parse({ type: "cron", cron: text })).toThrow(problem);
  });

  test.each(["Europe/Berln", "", "+02:00", "CEST+1 ", "Mars/Phobos", "../etc", "UTC\0"])(
    "the zone %j",
    (zone) => {
      expect(() => parse({ type: "cron", cron: "0 9 * * *", zone })).toThrow(/^when\.zone: .* no time zone/);
    },
  );

  test.each([
    ["every 10s", /"every 10s" is too often; at most once a minute/],
    ["every 0m", /no time at all/],
    ["every", /not understood; write "every 30m"/],
    ["every weekday", /says no time; write "every weekday at 9"/],
    ["every blursday at 9", /"blursday" is no day/],
    ["every weekday at 25", /"25" is no time/],
    ["every weekday at 13pm", /"13pm" is no time/],
    ["every 5", /not understood/],
    ["at", /not understood|says no time/],
    ["at 9:99", /"9:99" is no time/],
    ["at 2027-02-30 09:00", /names a day or a time that there is not/],
    ["at 2020-01-01 09:00", /^when\.at: .* is in the past; it is 2027/],
    ["today at 8:00", /in the past/],
    ["in", /not understood/],
    ["in 5 parsecs", /not understood/],
    ["in 20 years", /not understood/],
    ["whenever", /not understood; write "every 30m"/],
    ["", /^when: is empty; write/],
    ["every 99999w", /at most 366 days/],
  ])("the words %j", (text, problem) => {
    expect(() => words(text)).toThrow(problem);
  });

  test("an instant in the past, and one that is too far", () => {
    expect(() => parse({ type: "at", at: "2027-01-05T08:30:00Z" })).toThrow(/^when\.at: .* is in the past/);
    expect(() => parse({ type: "at", at: "2047-01-05T08:30:00Z" })).toThrow(/ten years/);
  });
});

describe("our grammar", () => {
  test.each([
    ["every 30m", { type: "every", seconds: 1_800 }],
    ["Every 2 Hours", { type: "every", seconds: 7_200 }],
    ["every hour", { type: "every", seconds: 3_600 }],
    ["every day", { type: "every", seconds: 86_400 }],
    ["every day at 9", { type: "cron", cron: "0 9 * * *", zone: BERLIN }],
    ["every weekday at 9", { type: "cron", cron: "0 9 * * 1-5", zone: BERLIN }],
    ["every weekend at 10:15", { type: "cron", cron: "15 10 * * 0,6", zone: BERLIN }],
    ["every monday and thursday at 5pm", { type: "cron", cron: "0 17 * * 1,4", zone: BERLIN }],
    ["every mon, wed and fri at 12am", { type: "cron", cron: "0 0 * * 1,3,5", zone: BERLIN }],
    ["every day at noon", { type: "cron", cron: "0 12 * * *", zone: BERLIN }],
    ["0 9 * * mon-fri", { type: "cron", cron: "0 9 * * MON-FRI", zone: BERLIN }],
    ["in 20m", { type: "at", at: "2027-01-05T08:50:00.000Z", zone: BERLIN }],
    ["in 2 days", { type: "at", at: "2027-01-07T08:30:00.000Z", zone: BERLIN }],
    ["at 17:00", { type: "at", at: "2027-01-05T16:00:00.000Z", zone: BERLIN }],
    ["at 9:15", { type: "at", at: "2027-01-06T08:15:00.000Z", zone: BERLIN }], // it is 9:30 there
    ["today at 17:00", { type: "at", at: "2027-01-05T16:00:00.000Z", zone: BERLIN }],
    ["tomorrow at 9", { type: "at", at: "2027-01-06T08:00:00.000Z", zone: BERLIN }],
    ["at 2027-03-01 09:00", { type: "at", at: "2027-03-01T08:00:00.000Z", zone: BERLIN }],
    ["at 2027-03-01T09:00:00Z", { type: "at", at: "2027-03-01T09:00:00.000Z", zone: BERLIN }],
    ["at 2027-03-01T09:00:00+05:30", { type: "at", at: "2027-03-01T03:30:00.000Z", zone: BERLIN }],
  ])("%s", (text, when) => {
    expect(words(text)).toEqual(when);
  });

  test("a zone is spelt as the machine spells it; without one it is the machine's", () => {
    expect(parse({ type: "cron", cron: "0 9 * * *", zone: "europe/berlin" })).toMatchObject({ zone: BERLIN });
    expect(parse({ type: "cron", cron: "0 9 * * *" })).toMatchObject({ zone: "UTC" });
    expect(findZone("Asia/Calcutta")).toBeDefined();
    expect(findZone("Asia/Kolkata")).toBeDefined();
  });
});

describe("clock changes", () => {
  test.each([
    // Berlin, 28 March 2027: 02:00 to 03:00 is skipped. The first moment after it is 01:00 UTC.
    ["30 2 * * *", BERLIN, "2027-03-27T12:00Z", ["2027-03-28T01:00", "2027-03-29T00:30"]],
    ["0,30 2 * * *", BERLIN, "2027-03-27T12:00Z", ["2027-03-28T01:00", "2027-03-29T00:00"]],
    [
      "30 2,3 * * *",
      BERLIN,
      "2027-03-27T12:00Z",
      ["2027-03-28T01:00", "2027-03-28T01:30", "2027-03-29T00:30"],
    ],
    ["0 2,3 * * *", BERLIN, "2027-03-27T12:00Z", ["2027-03-28T01:00", "2027-03-29T00:00"]],
    ["0 */2 * * *", BERLIN, "2027-03-27T23:30Z", ["2027-03-28T01:00", "2027-03-28T02:00"]],
    ["30 * * * *", BERLIN, "2027-03-28T00:10Z", ["2027-03-28T00:30", "2027-03-28T01:30"]],
    // Berlin, 31 October 2027: 02:00 to 03:00 comes twice, from 00:00 UTC and from 01:00 UTC.
    ["30 2 * * *", BERLIN, "2027-10-30T12:00Z", ["2027-10-31T00:30", "2027-11-01T01:30"]],
    [
      "*/30 2 * * *",
      BERLIN,
      "2027-10-30T12:00Z",
      ["2027-10-31T00:00", "2027-10-31T00:30", "2027-11-01T01:00"],
    ],
    [
      "30 1-3 * * *",
      BERLIN,
      "2027-10-30T22:40Z",
      ["2027-10-30T23:30", "2027-10-31T00:30", "2027-10-31T02:30"],
    ],
    [
      "*/30 */2 * * *",
      BERLIN,
      "2027-10-30T23:00Z",
      ["2027-10-31T00:00", "2027-10-31T00:30", "2027-10-31T01:00", "2027-10-31T01:30"],
    ],
    ["30 * * * *", BERLIN, "2027-10-31T00:00Z", ["2027-10-31T00:30", "2027-10-31T01:30", "2027-10-31T02:30"]],
    ["30 2 * * *", BERLIN, "2027-10-31T00:35Z", ["2027-11-01T01:30"]],
    // New York, 14 March and 7 November 2027.
    ["30 2 * * *", NEW_YORK, "2027-03-13T12:00Z", ["2027-03-14T07:00", "2027-03-15T06:30"]],
    ["30 1 * * *", NEW_YORK, "2027-11-06T12:00Z", ["2027-11-07T05:30", "2027-11-08T06:30"]],
  ])("%s in %s after %s", (text, zone, from, dues) => {
    expect(duesOf(cron(text, zone), from, dues.length)).toEqual(dues);
  });

  test("`at 2:30` on a night that has none is the first moment after it", () => {
    expect(parse({ type: "words", words: "at 2027-03-28 02:30", zone: BERLIN })).toMatchObject({
      at: "2027-03-28T01:00:00.000Z",
    });
  });

  /** Each minute of the days around a clock change, one by one, without the calculator. */
  function bruteForce(
    minutes: number[],
    hours: number[],
    kind: "any" | "step" | "named",
    zone: string,
    from: number,
    to: number,
  ) {
    const dues: number[] = [];
    const seen = new Set<number>();
    const isMeant = (wall: number) => {
      const at = new Date(wall);
      return minutes.includes(at.getUTCMinutes()) && hours.includes(at.getUTCHours());
    };
    let before = wallOf(zone, from);
    for (let ms = from + MINUTE; ms <= to; ms += MINUTE) {
      const wall = wallOf(zone, ms);
      let isDue = isMeant(wall) && (kind !== "named" || !seen.has(wall));
      for (let skipped = before + MINUTE; skipped < wall; skipped += MINUTE) {
        if (kind !== "any" && isMeant(skipped)) isDue = true;
      }
      if (isDue) dues.push(ms);
      seen.add(wall);
      before = wall;
    }
    return dues;
  }

  const CHANGES = [
    [BERLIN, "2027-03-27T20:00Z"],
    [BERLIN, "2027-10-30T20:00Z"],
    [NEW_YORK, "2027-03-14T02:00Z"],
    [NEW_YORK, "2027-11-07T01:00Z"],
    ["Australia/Lord_Howe", "2027-04-03T09:00Z"], // half an hour
    ["Australia/Lord_Howe", "2027-10-02T09:00Z"],
    ["Asia/Kolkata", "2027-05-01T00:00Z"],
  ] as const;
  test.each(CHANGES)("any expression is due when its minutes say so: %s from %s", (zone, from) => {
    const [start, end] = [Date.parse(from), Date.parse(from) + 14 * HOUR];
    let seed = start / HOUR;
    const random = (below: number) => {
      seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
      return Math.floor((seed / 2_147_483_648) * below);
    };
    const all = [...Array(24).keys()];
    for (let i = 0; i < 5; i++) {
      const minutes = [random(60), random(60)].toSorted((a, b) => a - b);
      const step = 1 + random(4);
      const kind = (["any", "step", "named"] as const)[step === 1 ? 2 * random(2) : random(3)] ?? "named";
      const named = [random(6), 1 + random(5), random(24)];
      const hours = { any: all, step: all.filter((hour) => hour % step === 0), named }[kind];
      const text = `${minutes.join(",")} ${{ any: "*", step: `*/${step}`, named: named.join(",") }[kind]} * * *`;
      const expected = bruteForce(minutes, hours, kind, zone, start, end);
      const job = { when: cron(text, zone), madeAt: 0 };
      const got: number[] = [];
      for (let due = nextDue(job, start); due !== null && due <= end; due = nextDue(job, due)) got.push(due);
      expect(
        got.map((ms) => new Date(ms).toISOString()),
        text,
      ).toEqual(expected.map((ms) => new Date(ms).toISOString()));
    }
  });
});

describe("from one due instant to the next", () => {
  const every = { when: { type: "every", seconds: 600 } as const, madeAt: NOW };

  test("a duration counts from the making, however late a run was", () => {
    expect(nextDue(every, NOW)).toBe(NOW + 10 * MINUTE);
    expect(nextDue(every, NOW + 10 * MINUTE)).toBe(NOW + 20 * MINUTE);
    expect(nextDue(every, NOW + 13 * MINUTE)).toBe(NOW + 20 * MINUTE);
    expect(nextDue(every, NOW - HOUR), "the clock was put back").toBe(NOW + 10 * MINUTE);
  });

  test("an instant is due once", () => {
    const at = {
      when: { type: "at", at: new Date(NOW + HOUR).toISOString(), zone: "UTC" } as const,
      madeAt: NOW,
    };
    expect(nextDues(at, NOW, 3)).toEqual([NOW + HOUR]);
    expect(nextDue(at, NOW + HOUR)).toBeNull();
    expect(graceMs(at, NOW + HOUR)).toBe(2 * HOUR);
  });

  test("those that were missed are counted, also very many", () => {
    const due = NOW + 10 * MINUTE;
    expect(lastDue(every, due, due)).toEqual({ due, missed: 0 });
    expect(lastDue(every, due, due + 25 * MINUTE)).toEqual({ due: due + 20 * MINUTE, missed: 2 });
    const minutely = { when: cron("* * * * *", NEW_YORK), madeAt: NOW };
    const start = performance.now();
    const year = NOW + 365 * 24 * HOUR;
    expect(lastDue(minutely, NOW, year)).toMatchObject({ due: year });
    expect(performance.now() - start).toBeLessThan(2_000);
  });

  test("late by less than half a period, and at most two hours, is in time", () => {
    expect(graceMs(every, NOW + 10 * MINUTE)).toBe(5 * MINUTE);
    const daily = { when: cron("0 9 * * *"), madeAt: NOW };
    expect(graceMs(daily, nextDue(daily, NOW) ?? 0)).toBe(2 * HOUR);
  });

  test("days that a month does not have are left out, weekdays stand by name", () => {
    expect(duesOf(cron("0 9 31 * *", "UTC"), "2027-01-31T10:00Z", 2)).toEqual([
      "2027-03-31T09:00",
      "2027-05-31T09:00",
    ]);
    expect(duesOf(cron("0 0 29 2 *", "UTC"), "2027-01-01T00:00Z", 1)).toEqual(["2028-02-29T00:00"]);
    expect(duesOf(cron("0 9 L * *", "UTC"), "2027-02-01T00:00Z", 1)).toEqual(["2027-02-28T09:00"]);
    expect(duesOf(cron("0 9 1 * +1", "UTC"), "2027-01-01T00:00Z", 1)).toEqual(["2027-02-01T09:00"]);
    expect(duesOf(cron("0 9 * * 7", "UTC"), "2027-01-05T00:00Z", 1)).toEqual(["2027-01-10T09:00"]);
  });
});
