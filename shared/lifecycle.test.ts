import { getEventListeners } from "node:events";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, test, vi } from "vitest";
import { coalesced, KeyedQueue, pause, Releasers, Slots, withDeadline, withTimeout } from "./lifecycle.ts";

/** A promise and what ends it. */
function open<T = void>() {
  let resolve: (value: T) => void = () => undefined;
  let reject: (error: Error) => void = () => undefined;
  const promise = new Promise<T>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { promise, resolve, reject };
}

/** Lets everything that can go on go on. */
const settle = () => new Promise((resolve) => setImmediate(resolve));

describe("Releasers", () => {
  test("run last first, each once, one after the other", async () => {
    const order: string[] = [];
    const slow = open();
    const releasers = new Releasers();
    releasers.add("first", () => void order.push("first"));
    releasers.add("second", async () => {
      await slow.promise;
      order.push("second");
    });
    releasers.add("third", () => void order.push("third"));
    const closings = [releasers.close(), releasers.close()];
    await settle();
    expect(order).toEqual(["third"]);
    slow.resolve();
    await Promise.all(closings);
    await releasers.close();
    expect(order).toEqual(["third", "second", "first"]);
  });

  test("run all, also where one fails or takes too long, and name those", async () => {
    const order: string[] = [];
    const releasers = new Releasers();
    releasers.add("last", () => void order.push("last"));
    releasers.add("hanging", () => new Promise(() => undefined));
    releasers.add("throwing", () => {
      throw new Error("no");
    });
    releasers.add("rejecting", () => Promise.reject(new Error("no")));
    await expect(releasers.close(30)).rejects.toThrow(
      "could not close rejecting; could not close throwing; could not close hanging",
    );
    expect(order).toEqual(["last"]);
  });
});

describe("KeyedQueue", () => {
  test("runs one key's tasks in order, never two at once; keys side by side", async () => {
    const queue = new KeyedQueue();
    const gates = [open(), open(), open()];
    const events: string[] = [];
    const task = (name: string, gate: number) => async () => {
      events.push(`${name} begins`);
      await gates[gate]?.promise;
      events.push(`${name} ends`);
      return name;
    };
    const results = [
      queue.run("a", task("a1", 0)),
      queue.run("a", task("a2", 1)),
      queue.run("b", task("b1", 2)),
    ];
    await settle();
    expect(events).toEqual(["a1 begins", "b1 begins"]);
    gates[1]?.resolve();
    gates[2]?.resolve();
    await settle();
    expect(events).toEqual(["a1 begins", "b1 begins", "b1 ends"]);
    gates[0]?.resolve();
    expect(await Promise.all(results)).toEqual(["a1", "a2", "b1"]);
    expect(events.slice(3)).toEqual(["a1 ends", "a2 begins", "a2 ends"]);
  });

  test("a task that fails has its own caller to tell, and holds up no other", async () => {
    const queue = new KeyedQueue();
    const failing = queue.run("a", () => Promise.reject(new Error("no")));
    const next = queue.run("a", async () => "yes");
    await expect(failing).rejects.toThrow("no");
    expect(await next).toBe("yes");
  });

  test("is idle when all is done, also what was added meanwhile", async () => {
    const queue = new KeyedQueue();
    const gate = open();
    let isDone = false;
    void queue.run("a", async () => {
      await gate.promise;
      void queue.run("b", async () => {
        await settle();
        isDone = true;
      });
    });
    const idle = queue.idle();
    gate.resolve();
    await idle;
    expect(isDone).toBe(true);
    await queue.idle();
  });
});

describe("coalesced", () => {
  test("runs once for a call, and once more for all that come meanwhile; each gets a run that began after it", async () => {
    const runs: (() => void)[] = [];
    const work = coalesced(() => new Promise((resolve) => runs.push(resolve)));
    const ends: string[] = [];
    const first = work().then(() => ends.push("first"));
    const later = [work(), work()].map((one) => one.then(() => ends.push("later")));
    expect(runs).toHaveLength(1);
    runs[0]?.();
    await first;
    await vi.waitFor(() => expect(runs).toHaveLength(2));
    expect(ends).toEqual(["first"]);
    const last = work().then(() => ends.push("last"));
    runs[1]?.();
    await Promise.all(later);
    await vi.waitFor(() => expect(runs).toHaveLength(3));
    runs[2]?.();
    await last;
    expect(ends).toEqual(["first", "later", "later", "last"]);
  });

  test("goes on after a run that failed, whose callers alone are told", async () => {
    const outcomes = [Promise.reject(new Error("no")), Promise.resolve()];
    const work = coalesced(() => outcomes.shift() ?? Promise.resolve());
    const [first, second] = [work(), work()];
    await expect(first).rejects.toThrow("no");
    await second;
    await work();
  });
});

describe("withDeadline", () => {
  test("gives what the promise gives, in time", async () => {
    expect(await withDeadline(Promise.resolve(1), 1_000, "it")).toBe(1);
    await expect(withDeadline(Promise.reject(new Error("no")), 1_000, "it")).rejects.toThrow("no");
  });

  test("says what took too long", async () => {
    await expect(withDeadline(new Promise(() => undefined), 20, "waiting")).rejects.toThrow(
      "waiting took more than 20 ms",
    );
  });

  test("is not over because the process stood still", async () => {
    const slow = open();
    setTimeout(() => setImmediate(slow.resolve), 10);
    const inTime = withDeadline(slow.promise, 200, "it");
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 400);
    await inTime;
  });
});

test("a pause ends at its time, or at once when its signal fires, and never rejects", async () => {
  const before = performance.now();
  await pause(30);
  expect(performance.now() - before).toBeGreaterThan(25);
  const controller = new AbortController();
  const paused = pause(60_000, controller.signal);
  controller.abort();
  await paused;
  await pause(60_000, controller.signal);
});

test("a pause of several signals ends by each of them", async () => {
  for (const which of [0, 1]) {
    const controllers = [new AbortController(), new AbortController()];
    const paused = pause(60_000, ...controllers.map(({ signal }) => signal));
    controllers[which]?.abort();
    await withDeadline(paused, 1_000, "the pause");
  }
});

describe("withTimeout", () => {
  /** Ends only by its signal, and nobody else knows that. */
  const untilAborted = (signal: AbortSignal) =>
    new Promise<string>((resolve) => signal.addEventListener("abort", () => resolve("aborted")));

  test("fires also when garbage is collected meanwhile", async () => {
    setFlagsFromString("--expose-gc");
    const collect: () => void = runInNewContext("gc");
    const parent = new AbortController();
    const works = Array.from({ length: 20 }, () => withTimeout(300, [parent.signal], untilAborted));
    const collecting = setInterval(collect, 20);
    try {
      expect(await withDeadline(Promise.all(works), 5_000, "20 time-outs")).toEqual(
        Array.from({ length: 20 }, () => "aborted"),
      );
    } finally {
      clearInterval(collecting);
    }
  });

  test("fires with a parent, also with one that has fired before", async () => {
    const parent = new AbortController();
    const work = withTimeout(60_000, [undefined, parent.signal], untilAborted);
    parent.abort();
    expect(await work).toBe("aborted");
    expect(await withTimeout(60_000, [parent.signal], async ({ aborted }) => aborted)).toBe(true);
  });

  test("is the work's result, or its error", async () => {
    expect(await withTimeout(1_000, [], async () => 3)).toBe(3);
    await expect(withTimeout(1_000, [], () => Promise.reject(new Error("no")))).rejects.toThrow("no");
  });
});

describe("Slots", () => {
  const never = new AbortController().signal;

  test("run so many at once, the others in order, also after one failed", async () => {
    const slots = new Slots(2);
    const tasks = ["a", "b", "c", "d"].map((name) => ({ name, ...open() }));
    const started: string[] = [];
    const runs = tasks.map(({ name, promise }) =>
      slots.run(async () => {
        started.push(name);
        await promise;
        return name;
      }, never),
    );
    await settle();
    expect(started).toEqual(["a", "b"]);
    tasks[1]?.reject(new Error("b failed"));
    await expect(runs[1]).rejects.toThrow("b failed");
    expect(started).toEqual(["a", "b", "c"]);
    for (const task of tasks) task.resolve();
    expect(await Promise.all([runs[0], runs[2], runs[3]])).toEqual(["a", "c", "d"]);
    expect(await slots.run(async () => "later", never)).toBe("later");
  });

  test("one whose signal fires while it waits never starts, and takes nobody's turn", async () => {
    const slots = new Slots(1);
    const first = open();
    const running = slots.run(() => first.promise, never);
    const gone = new AbortController();
    let hasStarted = false;
    const left = slots.run(async () => {
      hasStarted = true;
    }, gone.signal);
    const next = slots.run(async () => "next", never);
    gone.abort();
    expect(await left).toBeUndefined();
    first.resolve();
    await running;
    expect(await next).toBe("next");
    expect(hasStarted).toBe(false);
    expect(await slots.run(async () => "x", gone.signal)).toBeUndefined();
  });
});

test("any number may wait on one signal: Node.js warns of no leak, and no listener is left behind", async () => {
  const warnings: Error[] = [];
  const note = (warning: Error) => warnings.push(warning);
  process.on("warning", note);
  const stop = new AbortController();
  const slots = new Slots(1);
  const first = open();
  const waits = [
    slots.run(() => first.promise),
    ...Array.from({ length: 30 }, () => pause(60_000, stop.signal)),
    ...Array.from({ length: 30 }, () => slots.run(() => Promise.resolve(), stop.signal)),
  ];
  await settle(); // a warning comes a tick later
  first.resolve();
  stop.abort();
  await Promise.all(waits);
  process.off("warning", note);
  expect(warnings).toEqual([]);
  expect(getEventListeners(stop.signal, "abort")).toEqual([]);
});
