/** Takes requests of hooks in: each is answered once its row is on the disk. */
import { AppError } from "../../shared/errors.ts";
import type { HookSettings } from "../../shared/hooks/settings.ts";
import type { HookOutcome, HookRequestTable, NewHookRequest } from "../store/hook-requests.ts";
import { doesFit, fillTemplate, parseBody } from "./body.ts";
import { groupKeyOf } from "./coalesce.ts";
import { deliveryIdOf } from "./delivery-id.ts";
import type { SentRequest } from "./proof.ts";
import { Rates } from "./rate.ts";

/** A hook, as its requests are judged. */
export interface Hook {
  name: string;
  settings: HookSettings;
  secret: string;
  /** It takes nothing for now; whoever sends may try again. */
  isPaused?: boolean;
}

export interface IntakeOptions {
  requests: HookRequestTable;
  now: () => number;
  /** The most bytes of bodies that wait to be passed on. */
  maxWaitingBytes: number;
  /** Is told that there is something to pass on. */
  onTaken: (hook: string) => void;
}

interface Waiting {
  request: NewHookRequest;
  resolve: (outcome: HookOutcome) => void;
  reject: (error: unknown) => void;
}

/** More would hold up everything else for longer than one wait for the disk. */
const MAX_GROUP = 500;

export class Intake {
  readonly #options: IntakeOptions;
  readonly #rates = new Rates();
  #waiting: Waiting[] = [];

  constructor(options: IntakeOptions) {
    this.#options = options;
  }

  /**
   * Takes a request that is proven to be its sender's. The same one again is answered as it was the first time.
   * @returns once a loss of power can't take it any more
   * @throws AppError `invalid_request` if the filter or the template do not fit, `rate_limited`, `unavailable`
   */
  async take(hook: Hook, { headers, body }: SentRequest): Promise<{ id: string; outcome: HookOutcome }> {
    const { requests, now } = this.#options;
    const { name, settings, isPaused } = hook;
    if (isPaused) throw new AppError("unavailable", "This hook is paused; try again later.");
    const json = parseBody(body);
    const receivedAt = now();
    const { id, keptMs } = deliveryIdOf(settings.proof.preset, headers, body, json);
    const known = requests.find(name, id, receivedAt);
    if (known !== undefined) return { id, outcome: known };
    const waitSeconds = this.#rates.take(name, settings.perMinute, receivedAt);
    if (waitSeconds > 0) throw tooOften(settings.perMinute, waitSeconds);
    const isWanted = doesFit(json, settings.filter ?? []);
    if (isWanted && settings.template !== undefined) fillTemplate(settings.template, json);
    const outcome = await this.#keep({
      hook: name,
      deliveryId: id,
      receivedAt,
      knownUntil: receivedAt + keptMs,
      groupKey: settings.coalesce ? groupKeyOf(settings.coalesce, json) : "",
      outcome: isWanted ? "taken" : "filtered",
      body: isWanted ? body : null,
    });
    return { id, outcome };
  }

  /** With all others that come before the disk has been waited for. */
  #keep(request: NewHookRequest): Promise<HookOutcome> {
    return new Promise((resolve, reject) => {
      if (this.#waiting.length === 0) setImmediate(() => this.#write());
      this.#waiting.push({ request, resolve, reject });
    });
  }

  #write(): void {
    const group = this.#waiting.slice(0, MAX_GROUP);
    this.#waiting = this.#waiting.slice(MAX_GROUP);
    if (this.#waiting.length > 0) setImmediate(() => this.#write());
    const { requests, maxWaitingBytes, onTaken } = this.#options;
    try {
      const bytes = group.reduce((sum, { request }) => sum + (request.body?.length ?? 0), 0);
      if (bytes > 0 && requests.waitingBytes() + bytes > maxWaitingBytes) throw full();
      const outcomes = requests.keep(group.map(({ request }) => request));
      for (const [index, { resolve, request }] of group.entries())
        resolve(outcomes[index] ?? request.outcome);
    } catch (error) {
      for (const { reject } of group) reject(error);
      return;
    }
    const taken = group.flatMap(({ request: { outcome, hook } }) => (outcome === "taken" ? [hook] : []));
    for (const hook of new Set(taken)) onTaken(hook);
  }
}

function tooOften(perMinute: number, seconds: number): AppError {
  return new AppError(
    "rate_limited",
    `This hook takes ${perMinute} requests a minute; try again in ${seconds} s.`,
  );
}

function full(): AppError {
  return new AppError("unavailable", "Too much waits to be passed on; try again later.");
}
