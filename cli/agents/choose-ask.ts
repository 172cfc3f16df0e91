/** Which of an agent's open asks is meant, and what an answer from the command line says. Pure. */
import type { AnswerRequest, AskReply } from "../../shared/agent/api.ts";
import { cleanLine } from "../../shared/clean-text.ts";
import { AppError } from "../../shared/errors.ts";
import { shortId } from "./ask-text.ts";

type Permission = Extract<AskReply["request"], { type: "permission_request" }>;
type Elicitation = Extract<AskReply["request"], { type: "elicitation_request" }>;
type Question = Elicitation["questions"][number];

/** An answer, and what it comes to in words. */
export interface Decision {
  answer: AnswerRequest;
  said: string;
}

/**
 * @param asks of one thread, the oldest first.
 * @param wanted the start of a request's id; undefined takes the only one.
 * @throws AppError `ask_ended` if none is open, `invalid_request` if several are or none fits.
 */
export function chooseAsk(asks: readonly AskReply[], thread: string, wanted: string | undefined): AskReply {
  if (asks.length === 0) throw new AppError("ask_ended", `${thread} asks nothing now`);
  const known = asks.map(({ requestId, title }) => `${shortId(requestId)} (${cleanLine(title)})`).join(", ");
  const fitting = wanted === undefined ? asks : asks.filter(({ requestId }) => requestId.startsWith(wanted));
  const [only, second] = fitting;
  if (!only)
    throw invalid(`--ask: no open ask of ${thread} begins with ${JSON.stringify(wanted)}; open are ${known}`);
  if (second) throw invalid(`--ask: needed, ${thread} asks several things: ${known}`);
  return only;
}

/** @throws AppError `invalid_request` if this ask has no such choice. */
export function approval(ask: AskReply, { always }: { always: boolean }): Decision {
  const request = permissionOf(ask);
  const allowing = request.options.filter(({ kind }) => kind.startsWith("allow"));
  const once = allowing.find(({ kind }) => kind === "allow_once");
  const forAlways = allowing.find(({ kind }) => kind === "allow_always");
  // A directory is trusted or not: there is nothing to allow once.
  const option = always ? forAlways : (once ?? (request.trust ? forAlways : undefined));
  if (!option) {
    const choices = request.options.map(({ name }) => cleanLine(name)).join(", ");
    throw invalid(
      `${always ? "--always: this ask" : "thread: what it asks"} has no such choice, but ${choices}`,
    );
  }
  return { answer: { optionId: option.optionId }, said: cleanLine(option.name) };
}

/** @throws AppError `invalid_request` if a question is to be refused for a reason. */
export function denial(ask: AskReply, { because }: { because: string | undefined }): Decision {
  if (ask.request.type === "elicitation_request") {
    if (because !== undefined)
      throw invalid("--because: not with a question; answer it in words of your own, or leave this out");
    return { answer: { action: "decline" }, said: "not answered" };
  }
  const { options } = ask.request;
  const option =
    options.find(({ kind }) => kind === "reject_once") ??
    options.find(({ kind }) => kind === "reject_always");
  if (!option) throw invalid("thread: what it asks can't be denied");
  const message = because === undefined ? {} : { message: because };
  return { answer: { optionId: option.optionId, ...message }, said: cleanLine(option.name) };
}

/**
 * @param words one for each question; to a single question, all of them are one text.
 * @param isText takes a number for what it is, not for a choice.
 * @throws AppError `invalid_request`
 */
export function reply(
  ask: AskReply,
  { words, isText }: { words: readonly string[]; isText: boolean },
): Decision {
  const { request } = ask;
  if (request.type !== "elicitation_request") {
    throw invalid(`answer: ${JSON.stringify(cleanLine(ask.title))} is no question; approve or deny it`);
  }
  const { questions } = request;
  const answers = questions.length === 1 ? [words.join(" ")] : words;
  if (answers.length !== questions.length) {
    throw invalid(
      `answer: ${questions.length} questions need ${questions.length} answers, not ${answers.length}`,
    );
  }
  const content = questions.map((question, i): [string, string] => {
    const label = questions.length === 1 ? "answer" : `answer ${i + 1}`;
    return [question.question, isText ? nonEmpty(label, answers[i]) : chosen(question, label, answers[i])];
  });
  const said = content.map(([, text]) => cleanLine(text)).join("; ");
  return { answer: { action: "accept", content: Object.fromEntries(content) }, said };
}

/** `2`, `1,3` of a question that takes several, a label in any case, or words of one's own. */
function chosen({ multiSelect, options }: Question, name: string, text: string | undefined): string {
  const words = nonEmpty(name, text);
  const byLabel = options.find(({ label }) => label.toLowerCase() === words.toLowerCase());
  if (byLabel) return byLabel.label;
  if (options.length === 0 || !/^\d+(\s*,\s*\d+)*$/.test(words)) return words;
  const numbers = [...new Set(words.split(",").map(Number))];
  if (numbers.length > 1 && !multiSelect) throw invalid(`${name}: takes one choice, not ${numbers.length}`);
  return numbers
    .map((number) => {
      const option = options[number - 1];
      if (option) return option.label;
      throw invalid(
        `${name}: must be a choice from 1 to ${options.length}; with --text it is taken as it is`,
      );
    })
    .join(", ");
}

function nonEmpty(name: string, text = ""): string {
  if (text.trim() === "") throw invalid(`${name}: must not be empty`);
  return text.trim();
}

function permissionOf(ask: AskReply): Permission {
  if (ask.request.type === "permission_request") return ask.request;
  throw invalid(`thread: ${JSON.stringify(cleanLine(ask.title))} is a question; answer it`);
}

function invalid(message: string): AppError {
  return new AppError("invalid_request", message);
}
